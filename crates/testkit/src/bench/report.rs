//! The results and the goals, as a table for people and as JSON for scripts.

use super::stats;
use serde_json::{Value, json};
use std::fmt::Write;

/// The goal of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    AtMost(f64),
    AtLeast(f64),
    /// For orientation only.
    None,
}

impl Goal {
    fn holds(self, figure: f64) -> Option<bool> {
        match self {
            Goal::AtMost(limit) => Some(figure <= limit),
            Goal::AtLeast(limit) => Some(figure >= limit),
            Goal::None => None,
        }
    }

    fn words(self) -> String {
        match self {
            Goal::AtMost(limit) => format!("≤ {}", short(limit)),
            Goal::AtLeast(limit) => format!("≥ {}", short(limit)),
            Goal::None => String::new(),
        }
    }
}

/// One row of the result. The goal refers to the figure.
#[derive(Debug, Clone)]
pub struct Row {
    pub series: &'static str,
    pub what: String,
    pub unit: &'static str,
    pub direct: Option<f64>,
    pub nginx: Option<f64>,
    pub ctx: f64,
    pub figure: f64,
    pub figure_name: &'static str,
    pub goal: Goal,
}

/// The measurements of one kind in every round: one list for each of the three servers.
#[derive(Debug, Clone, Default)]
pub struct Rounds {
    pub direct: Vec<f64>,
    pub nginx: Vec<f64>,
    pub ctx: Vec<f64>,
}

impl Rounds {
    /// A row of medians whose figure is `ctx / nginx`.
    pub fn ratio(&self, series: &'static str, what: String, unit: &'static str, goal: Goal) -> Row {
        let (direct, nginx, ctx) = (stats::median(&self.direct), stats::median(&self.nginx), stats::median(&self.ctx));
        let figure = if nginx > 0.0 { ctx / nginx } else { f64::INFINITY };
        Row { series, what, unit, direct: Some(direct), nginx: Some(nginx), ctx, figure, figure_name: "× nginx", goal }
    }

    /// A row of medians whose figure is the difference of `ctx` and `direct`, computed per round, because disturbances
    /// mostly affect both.
    pub fn added(&self, series: &'static str, what: String, unit: &'static str, goal: Goal) -> Row {
        let (direct, nginx, ctx) = (stats::median(&self.direct), stats::median(&self.nginx), stats::median(&self.ctx));
        let added: Vec<f64> = self.ctx.iter().zip(&self.direct).map(|(ctx, direct)| ctx - direct).collect();
        let figure = stats::median(&added);
        Row { series, what, unit, direct: Some(direct), nginx: Some(nginx), ctx, figure, figure_name: "added", goal }
    }
}

impl Row {
    /// A row about `ctx` alone.
    pub fn alone(series: &'static str, what: String, unit: &'static str, ctx: f64, goal: Goal) -> Self {
        Self { series, what, unit, direct: None, nginx: None, ctx, figure: ctx, figure_name: unit, goal }
    }
}

/// The environment of the measurement, without anything that identifies a machine.
#[derive(Debug, Clone)]
pub struct Machine {
    pub cores: usize,
    pub processor: String,
    pub memory_gb: u64,
    pub kernel: String,
}

impl Machine {
    pub fn look() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, name: &str| -> Option<String> {
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let kilobytes = field(&read("/proc/meminfo"), "MemTotal").and_then(|text| text.split(' ').next()?.parse().ok());
        let kernel = read("/proc/sys/kernel/osrelease");
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: field(&read("/proc/cpuinfo"), "model name").unwrap_or_default(),
            memory_gb: kilobytes.map_or(0, |kilobytes: u64| kilobytes / 1_000_000),
            kernel: kernel.trim().split('-').next().unwrap_or_default().to_owned(),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Report {
    pub machine: Machine,
    pub quick: bool,
    rows: Vec<Row>,
    notes: Vec<String>,
}

impl Report {
    pub fn new(quick: bool) -> Self {
        Self { machine: Machine::look(), quick, rows: Vec::new(), notes: Vec::new() }
    }

    /// Adds a row and prints it at once: a bench takes long.
    pub fn add(&mut self, row: Row) {
        println!("{}", line(&row));
        self.rows.push(row);
    }

    pub fn note(&mut self, text: String) {
        println!("  {text}");
        self.notes.push(text);
    }

    pub fn missed(&self) -> usize {
        self.rows.iter().filter(|row| row.goal.holds(row.figure) == Some(false)).count()
    }

    /// A table as in the documentation.
    pub fn table(&self) -> String {
        let machine = &self.machine;
        let mut text = format!(
            "{} cores ({}), {} GB, Linux {}{}\n\n",
            machine.cores,
            machine.processor,
            machine.memory_gb,
            machine.kernel,
            if self.quick { ", quick run" } else { "" }
        );
        text.push_str("| what | direct | nginx | ctx | figure | goal | |\n|---|---:|---:|---:|---:|---:|---|\n");
        let cell =
            |value: Option<f64>, unit: &str| value.map_or(String::new(), |value| format!("{} {unit}", short(value)));
        for row in &self.rows {
            let _ = writeln!(
                text,
                "| {}, {} | {} | {} | {} | {} {} | {} | {} |",
                row.series,
                row.what,
                cell(row.direct, row.unit),
                cell(row.nginx, row.unit),
                cell(Some(row.ctx), row.unit),
                short(row.figure),
                row.figure_name,
                row.goal.words(),
                verdict(row)
            );
        }
        for note in &self.notes {
            let _ = write!(text, "\n- {note}");
        }
        text
    }

    pub fn json(&self) -> Value {
        let goal = |goal: Goal| match goal {
            Goal::AtMost(limit) => json!({"at_most": limit}),
            Goal::AtLeast(limit) => json!({"at_least": limit}),
            Goal::None => Value::Null,
        };
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                json!({
                    "series": row.series, "what": row.what, "unit": row.unit, "direct": row.direct,
                    "nginx": row.nginx, "ctx": row.ctx, "figure": row.figure, "figure_is": row.figure_name,
                    "goal": goal(row.goal), "holds": row.goal.holds(row.figure),
                })
            })
            .collect();
        let machine = &self.machine;
        json!({
            "quick": self.quick,
            "machine": {
                "cores": machine.cores, "processor": machine.processor,
                "memory_gb": machine.memory_gb, "kernel": machine.kernel,
            },
            "rows": rows,
            "notes": self.notes,
            "missed": self.missed(),
        })
    }
}

fn verdict(row: &Row) -> &'static str {
    match row.goal.holds(row.figure) {
        Some(true) => "ok",
        Some(false) => "MISSED",
        None => "",
    }
}

fn line(row: &Row) -> String {
    let name = format!("{}, {}", row.series, row.what);
    let cell = |name: &str, value: Option<f64>| {
        value.map_or(" ".repeat(name.len() + 16), |value| format!("{name} {:>9} {:<5}", short(value), row.unit))
    };
    format!(
        "{name:<44} {} {} {} {:>8} {:<8} {:<8} {}",
        cell("direct", row.direct),
        cell("nginx", row.nginx),
        cell("ctx", Some(row.ctx)),
        short(row.figure),
        row.figure_name,
        row.goal.words(),
        verdict(row)
    )
}

/// Such a measurement has three significant digits.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds() -> Rounds {
        Rounds { direct: vec![40.0], nginx: vec![100.0, 50.0, 300.0], ctx: vec![150.0, 160.0, 120.0] }
    }

    #[test]
    fn a_ratio_is_that_of_the_medians() {
        let row = rounds().ratio("latency", "p50".into(), "µs", Goal::AtMost(2.0));
        assert_eq!((row.nginx, row.ctx, row.figure), (Some(100.0), 150.0, 1.5));
        let row = rounds().added("streaming", "p99".into(), "µs", Goal::AtMost(100.0));
        assert_eq!(row.figure, 110.0);
    }

    #[test]
    fn a_missed_goal_is_counted_and_shown_and_a_row_without_one_is_not() {
        let mut report = Report::new(true);
        report.add(rounds().ratio("latency", "p50".into(), "µs", Goal::AtMost(1.4)));
        report.add(rounds().ratio("throughput", "x".into(), "/s", Goal::AtLeast(0.5)));
        report.add(Row::alone("memory", "idle".into(), "MB", 12.345, Goal::None));
        assert_eq!(report.missed(), 1);
        assert_eq!(report.table().matches("MISSED").count(), 1);
        assert!(report.table().contains("| 12.3 MB | 12.3 MB |"), "{}", report.table());
        assert_eq!(report.json()["rows"][0]["holds"], false);
        assert_eq!(report.json()["rows"][2]["holds"], Value::Null);
    }
}
