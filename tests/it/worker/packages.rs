//! Sessions that use numpy, pandas, pyarrow and polars: the limits under which they can be imported, and which of them a
//! backup survives.

use warmcell::{Limits, SessionState};

use super::{Worker, builder, notice, open, value};
use crate::support::{Cells, data_venv};

fn with_packages(memory_mb: u64) -> Worker {
    let limits = Limits::default().with_memory_mb(memory_mb);
    open(builder().python(data_venv()).limits(limits))
}

/// A limit of the address space broke the import of numpy: bytedance/SandboxFusion#45.
#[test]
fn numpy_and_pandas_are_imported_within_512_mib() {
    let session = with_packages(512);
    let outcome = session.cell("import numpy, pandas\nmatrix = numpy.ones((300, 300)); return [float((matrix @ matrix)[0, 0]), int(pandas.Series([1, 2]).sum())]");
    assert_eq!(value(&outcome), "[300.0,3]", "{outcome:?}");
    // And what numpy asks for by itself is held to it.
    let too_large =
        session.cell("try:\n    numpy.ones(10**9)\nexcept MemoryError:\n    return 'caught'");
    assert_eq!(value(&too_large), "\"caught\"", "{too_large:?}");
}

/// A crash undoes a cell, and what the packages held works as before, their thread pools included.
#[test]
fn numpy_pandas_and_pyarrow_survive_a_crash() {
    let session = with_packages(2048);
    let numpy = session.cell("import os, numpy as np\nrng = np.random.default_rng(1); m = rng.random((500, 500)); product = float((m @ m).sum()); following = np.random.default_rng(1)");
    assert_eq!((numpy.ok, numpy.notice), (true, None));
    let pandas = session.cell("import pandas as pd\nframe = pd.DataFrame({'x': range(1000), 'g': [str(n % 7) for n in range(1000)]}); sums = frame.groupby('g').x.sum().to_dict()");
    assert_eq!((pandas.ok, pandas.notice), (true, None));
    let pyarrow = session.cell("import io, pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq\ntable = pa.table({'x': list(range(200_000))}); buffer = io.BytesIO(); pq.write_table(table, buffer); total = pc.sum(pq.read_table(io.BytesIO(buffer.getvalue()))['x']).as_py()");
    assert_eq!(
        (pyarrow.ok, pyarrow.notice),
        (true, None),
        "{:?}",
        pyarrow.error
    );
    for _ in 0..3 {
        let died =
            session.cell("m[:] = 0; frame.drop(columns='x', inplace=True); del table; os._exit(1)");
        assert_eq!(died.state, SessionState::Restored);
        let after = session.cell("return [abs(float((m @ m).sum()) - product) < 1e-3, frame.groupby('g').x.sum().to_dict() == sums, pc.sum(pq.read_table(io.BytesIO(buffer.getvalue()))['x']).as_py() == total, table.num_rows]");
        assert_eq!(value(&after), "[true,true,true,200000]", "{after:?}");
        assert_eq!(after.notice, None);
    }
}

/// Its pool does not survive a fork; the first outcome after which that matters says so.
#[test]
fn polars_does_not_and_says_so() {
    let session = with_packages(2048);
    let used = session.cell("import os, polars as pl\nframe = pl.DataFrame({'x': [1, 2, 3]}); return frame.lazy().select(pl.col('x').sum()).collect().item()");
    assert_eq!(value(&used), "6");
    assert_eq!(
        notice(&used),
        "from here on a crash would lose the session: there is no backup, since threads of polars are alive"
    );
    let died = session.cell("os._exit(1)");
    assert_eq!(died.state, SessionState::Lost);
    assert!(notice(&died).contains("there is no backup: threads of polars are alive"));
}
