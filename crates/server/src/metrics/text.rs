//! The text format of Prometheus, version 0.0.4.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use super::histogram::Histogram;

pub(crate) const MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Default)]
pub(crate) struct Page(String);

impl Page {
    pub(crate) fn into_text(self) -> String {
        self.0
    }

    pub(crate) fn begin(&mut self, name: &str, help: &str, kind: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub(crate) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0.push_str(name);
        for (number, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{}{label}=\"{text}\"", if number == 0 { '{' } else { ',' });
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.begin(name, help, "gauge");
        self.sample(name, &[], value);
    }

    pub(crate) fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.begin(name, help, "counter");
        self.sample(name, &[], value as f64);
    }

    /// A counter for each value of a label.
    pub(super) fn counters(&mut self, name: &str, help: &str, label: &str, values: &[&str], counters: &[AtomicU64]) {
        self.begin(name, help, "counter");
        for (value, counter) in values.iter().zip(counters) {
            self.sample(name, &[(label, value)], counter.load(Ordering::Relaxed) as f64);
        }
    }

    pub(super) fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.begin(name, help, "histogram");
        let (buckets, all, sum) = histogram.cumulative();
        for (bound, number) in buckets.into_iter().chain([("+Inf", all)]) {
            self.sample(&format!("{name}_bucket"), &[("le", bound)], number as f64);
        }
        self.sample(&format!("{name}_sum"), &[], sum);
        self.sample(&format!("{name}_count"), &[], all as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn labels_are_escaped_and_histograms_are_cumulative() {
        let mut page = Page::default();
        page.gauge("a", "An a.", 1.5);
        page.sample("b", &[("x", "a\"b\\c\nd"), ("y", "z")], 2.0);
        let histogram = Histogram::default();
        for milliseconds in [1, 1, 300, 700_000] {
            histogram.add(Duration::from_millis(milliseconds));
        }
        page.histogram("h", "An h.", &histogram);
        let text = page.into_text();
        assert!(
            text.starts_with("# HELP a An a.\n# TYPE a gauge\na 1.5\nb{x=\"a\\\"b\\\\c\\nd\",y=\"z\"} 2\n"),
            "{text}"
        );
        for line in [
            "h_bucket{le=\"0.0005\"} 0",
            "h_bucket{le=\"0.001\"} 2",
            "h_bucket{le=\"0.25\"} 2",
            "h_bucket{le=\"1\"} 3",
            "h_bucket{le=\"600\"} 3",
            "h_bucket{le=\"+Inf\"} 4",
            "h_sum 700.302",
            "h_count 4",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }
}
