//! What Node cannot record of `console`: bounds, streams, late output.

use serde_json::json;
use warmcell::{Cell, Event, Limits, Stream};

use super::on_each_engine;
use crate::support::{Cells, Judge, check_cut, each, ms, settle, timed};

#[test]
fn output_goes_to_the_streams_as_it_comes() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        let (cell, mut events) = Cell::from(
            "console.log('one'); console.error('two'); await new Promise(done => setTimeout(done, 1)); console.log('three'); 4",
        )
        .with_events(16);
        let execution = session.start(cell);
        let line = |stream, text: &str| {
            Some(Event::Output {
                stream,
                text: text.to_owned(),
            })
        };
        assert_eq!(settle(events.next()), line(Stream::Stdout, "one\n"));
        assert_eq!(settle(events.next()), line(Stream::Stderr, "two\n"));
        assert_eq!(settle(events.next()), line(Stream::Stdout, "three\n"));
        assert_eq!(settle(events.next()), None);
        let outcome = settle(execution);
        outcome.printed("one\nthree\n").returned(json!(4));
        assert_eq!(outcome.stderr, "two\n");
    });
}

#[test]
fn timing_and_traces_name_what_they_are_about() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        let outcome = session.cell(
            "console.time('work'); console.timeLog('work', 'half', [1]); console.timeEnd('work'); console.timeEnd('work');",
        );
        let lines: Vec<&str> = outcome.stdout.lines().collect();
        assert_eq!(lines.len(), 2, "{outcome:#?}");
        let (log, rest) = lines[0].split_once(": ").unwrap();
        let (time, more) = rest.split_once("ms ").unwrap();
        assert_eq!((log, more), ("work", "half [ 1 ]"));
        assert!(time.parse::<f64>().is_ok_and(|ms| ms < 1000.0), "{time}");
        assert!(
            lines[1].starts_with("work: ") && lines[1].ends_with("ms"),
            "{}",
            lines[1]
        );
        assert!(outcome.stderr.contains("work"), "{outcome:#?}");

        let outcome = session.cell("function inner() { console.trace('here', { a: 1 }) }\ninner()");
        let mut lines = outcome.stderr.lines();
        assert_eq!(lines.next(), Some("Trace: here { a: 1 }"), "{outcome:#?}");
        let frame = lines.next().unwrap_or_default();
        // boa tells the frames of what is thrown alone.
        assert!(
            engine.name == "boa" || frame.contains("at inner") && frame.contains(":1:"),
            "{outcome:#?}"
        );
    });
}

/// Whatever is printed: it ends, in time, and says that something was left out.
#[test]
fn what_is_printed_is_bounded_in_depth_items_and_length() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session
            .cell_within(
                ms(60_000),
                "let deep = {}; for (let i = 0; i < 100000; i++) deep = { deep };\n\
                 let wide = {}; for (let i = 0; i < 100000; i++) wide['k' + i] = i;\n\
                 const long = Array.from({ length: 1000000 }, (_, i) => i), text = 'x'.repeat(5000000);\n\
                 const map = new Map(long.slice(0, 100000).map(n => [n, n])), set = new Set(map.keys());\n\
                 const tree = n => n ? { a: tree(n - 1), b: tree(n - 1), c: tree(n - 1) } : 1; const bushy = tree(9);",
            )
            .succeeded();
        each(
            [
                ("console.log(deep)", 200, "[Object]"),
                ("console.dir(deep, { depth: null })", 200_000, "[Object]"),
                ("console.log(wide)", 20_000, "99000 more keys"),
                ("console.log(long)", 2_000, "999900 more items"),
                ("console.log(map)", 5_000, "99900 more items"),
                ("console.log(set)", 2_000, "99900 more items"),
                ("console.log([text])", 11_000, "4990000 more characters"),
                ("console.dir(bushy, { depth: 20 })", 2_500_000, "…"),
                ("console.table(long.slice(0, 3))", 500, "Values"),
                ("console.log('%o', deep)", 200_000, "[Object]"),
            ],
            |(code, most, part)| {
                let (took, outcome) = timed(|| session.cell(code));
                outcome.returned_nothing();
                let printed = outcome
                    .truncated
                    .stdout
                    .as_ref()
                    .map_or(outcome.stdout.len() as u64, |cut| cut.bytes);
                assert!(
                    printed <= most,
                    "{code} on {}: {printed} bytes",
                    engine.name
                );
                let is_told = outcome.stdout.contains(part) || outcome.truncated.stdout.is_some();
                assert!(
                    is_told,
                    "{code} on {}: {}",
                    engine.name,
                    &outcome.stdout[..outcome.stdout.len().min(500)]
                );
                assert!(took < ms(10_000), "{took:?} for {code} on {}", engine.name);
            },
        );
        session.cell("long.length").returned(json!(1_000_000));
    });
}

#[test]
fn budgets_of_output_hold_exactly() {
    on_each_engine(|engine| {
        let limits = Limits::default().with_output_bytes(1000);
        let session = engine.open(|builder| builder.limits(limits));
        for lines in [1, 20, 500, 20_000] {
            let outcome = session.cell(&format!(
                "for (let i = 0; i < {lines}; i++) {{ console.log('é line', i); console.error(i) }}"
            ));
            let stdout: String = (0..lines).map(|i| format!("é line {i}\n")).collect();
            let stderr: String = (0..lines).map(|i| format!("{i}\n")).collect();
            check_cut(
                &stdout,
                &outcome.stdout,
                outcome.truncated.stdout.as_ref(),
                1000,
            );
            check_cut(
                &stderr,
                &outcome.stderr,
                outcome.truncated.stderr.as_ref(),
                1000,
            );
        }
    });
}

/// A group is left open by a cell that fails; the next cell starts at the margin.
#[test]
fn an_indentation_ends_with_its_cell() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session
            .cell("console.group('g'); console.log('in'); throw new Error('x')")
            .printed("g\n  in\n");
        session.cell("console.log('out')").printed("out\n");
    });
}
