//! A short run of every fuzz target in `fuzz/`, so that a parser that panics on odd bytes is found early.

use std::fs;
use std::time::Duration;

use crate::failure::{Failure, Outcome};
use crate::{cargo_tools, shell, workspace};

pub fn run_each(time: Duration) -> Outcome {
    let program = cargo_tools::ensure(cargo_tools::FUZZ)?;
    let folder = workspace::root().join("fuzz");
    for target in targets()? {
        println!("fuzzing {target} for {} s", time.as_secs());
        let mut fuzz = shell::command(&program);
        fuzz.args(["run", "--fuzz-dir"]).arg(&folder).arg(&target);
        fuzz.args(["--", &format!("-max_total_time={}", time.as_secs()), "-timeout=10", "-print_final_stats=1"]);
        // The instrumentation is behind a flag that stable compilers accept only so.
        fuzz.env("RUSTC_BOOTSTRAP", "1");
        shell::run(&mut fuzz).map_err(|failure| {
            Failure::new(format!("fuzz target {target}: {failure}"))
                .hint("the input that broke it is in fuzz/artifacts; add it to a test before mending the code")
        })?;
    }
    Ok(())
}

/// The names of the files in `fuzz/fuzz_targets`, in a fixed order.
fn targets() -> Outcome<Vec<String>> {
    let folder = workspace::root().join("fuzz/fuzz_targets");
    let unreadable = |error| Failure::new(format!("{}: {error}", folder.display()));
    let mut names: Vec<String> = fs::read_dir(&folder)
        .map_err(unreadable)?
        .flatten()
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".rs")?.to_owned()))
        .collect();
    names.sort();
    if names.is_empty() {
        return Err(Failure::new("fuzz/fuzz_targets holds no target"));
    }
    Ok(names)
}
