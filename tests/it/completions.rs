//! What may stand where a cursor is: names and members of the live session, without running any code of the program, alike
//! in both placements.

use warmcell::{Completions, Language, Placement, Session, SessionBuilder};

#[cfg(any(feature = "javascript", feature = "quickjs"))]
use crate::javascript::ENGINES;
use crate::support::{Cells, Judge, each, settle, turn};

/// Runs a test on a session of each placement.
fn on_each_placement(builder: &SessionBuilder, test: impl Fn(&Session)) {
    let turn = turn();
    test(&turn.open(builder.clone()));
    #[cfg(feature = "cli")]
    test(
        &turn.open(
            builder
                .clone()
                .placement(Placement::Worker)
                .worker_executable(env!("CARGO_BIN_EXE_warmcell")),
        ),
    );
    #[cfg(not(feature = "cli"))]
    let _ = Placement::Worker;
}

fn complete(session: &Session, source: &str) -> Completions {
    settle(session.complete(source, source.len())).expect("an answer")
}

#[track_caller]
fn assert_names(session: &Session, source: &str, names: &[&str]) {
    let found = complete(session, source);
    assert_eq!(found.names, names, "{source}");
}

#[test]
fn python_completes_what_is_there() {
    on_each_placement(&Session::builder(Language::Python), |session| {
        session
            .cell(
                "import os.path, types\n\
                 class Base:\n    shared_by_all = 1\n    def __init__(self): self.shared_own = {}\n\
                 class Point(Base):\n    __slots__ = ('shared_slot',)\n    def shared_method(self): pass\n    @property\n    def shared_property(self): touched.append('property')\n\
                 touched = []; point = Point(); point_of_view = 1; holder = types.SimpleNamespace(inner=point)\n\
                 größe = 'x'",
            )
            .succeeded();
        each(
            [
                ("po", ["point", "point_of_view", "pow"].as_slice()),
                (
                    "point.sh",
                    &[
                        "shared_by_all",
                        "shared_method",
                        "shared_own",
                        "shared_property",
                        "shared_slot",
                    ],
                ),
                ("x = [holder.inner.shared_o", &["shared_own"]),
                ("holder.inner.shared_own.po", &["pop", "popitem"]),
                ("Point.shared_m", &["shared_method"]),
                ("os.path.joi", &["join"]),
                ("größe.spl", &["split", "splitlines"]),
                ("point.shared_property.", &[]),
                ("point.__sl", &["__slots__"]),
                ("missing.x", &[]),
                ("f().x", &[]),
            ],
            |(source, names)| assert_names(session, source, names),
        );
        assert_eq!(complete(session, "x = os.path.joi").start, 12);
        session.cell("touched").returned(serde_json::json!([]));
    });
}

#[test]
fn python_runs_no_code_of_the_program() {
    on_each_placement(&Session::builder(Language::Python), |session| {
        session
            .cell(
                "touched = []\n\
                 def touch(*anything): touched.append(anything); raise RuntimeError\n\
                 class Meta(type):\n    __getattribute__ = __dir__ = __iter__ = __eq__ = touch\n    __hash__ = type.__hash__\n\
                 class Loud(metaclass=Meta):\n    __getattr__ = __getattribute__ = __dir__ = __eq__ = touch\n    loud_name = 1\n\
                 class Descriptor:\n    def __get__(self, *anything): touch(self)\n\
                 class Quiet:\n    quiet_name = Descriptor()\n\
                 class Key:\n    def __init__(self, like): self.like = like\n    def __hash__(self): return hash(self.like)\n    __eq__ = touch\n\
                 loud, quiet = Loud(), Quiet()\n\
                 quiet.__dict__[Key('quiet_own')] = 1\n\
                 import builtins; real = builtins.__import__; builtins.__import__ = touch",
            )
            .succeeded();
        assert_names(session, "loud.loud", &["loud_name"]);
        assert_names(session, "Loud.loud", &["loud_name"]);
        assert_names(session, "quiet.quiet", &["quiet_name"]);
        assert_names(session, "quiet.quiet_own.x", &[]);
        assert_names(session, "quiet.quiet_name.x", &[]);
        session
            .cell("builtins.__import__ = real; touched")
            .returned(serde_json::json!([]));
    });
}

#[cfg(any(feature = "javascript", feature = "quickjs"))]
#[test]
fn javascript_completes_what_is_there_and_runs_nothing() {
    for &(name, engine) in ENGINES {
        let builder = Session::builder(Language::JavaScript).javascript_engine(engine);
        on_each_placement(&builder, |session| {
            session
                .cell(
                    "const touched = []; const touch = () => { touched.push(1); throw new Error('no') };\n\
                     class Base { sharedBase() {} } class Point extends Base { sharedOwn = { inner: [1] }; get sharedGetter() { touch() } }\n\
                     const point = new Point(), pointless = 1, text = 'a', list = [1, 2];\n\
                     const trap = new Proxy({ seen: 1 }, { get: touch, ownKeys: touch, getPrototypeOf: touch, getOwnPropertyDescriptor: touch });\n\
                     const behind = Object.create(trap, { ownName: { value: 1 } });\n\
                     Object.defineProperty(globalThis, 'globalThis', { get: touch, configurable: true }); 0",
                )
                .succeeded();
            each(
                [
                    ("poin", ["point", "pointless"].as_slice()),
                    ("point.sh", &["sharedBase", "sharedGetter", "sharedOwn"]),
                    ("point?.sharedOwn.in", &["inner"]),
                    ("point.sharedGetter.x", &[]),
                    ("f(text.spl", &["split"]),
                    ("list.flatM", &["flatMap"]),
                    ("Math.flo", &["floor"]),
                    ("trap.s", &[]),
                    ("behind.own", &["ownName"]),
                    ("JSON.stringify.na", &["name"]),
                    ("missing.x", &[]),
                    ("structuredCl", &["structuredClone"]),
                ],
                |(source, names)| assert_names(session, source, names),
            );
            let outcome = session.cell("touched.length");
            assert_eq!(outcome.value.expect("a value").as_str(), "0", "{name}");
        });
    }
}
