//! Token estimates, calibrated by the provider's reports.

use crate::message::{Block, Kind, Message};
use ctx_models::tokens::{USUAL, weights};
use std::hash::{DefaultHasher, Hash, Hasher};

/// From this estimate on, a request reveals the size of a token: the fixed overhead per request is small beside it.
const TELLING: f64 = 5_000.0;

/// The uncorrected estimate for one block.
pub fn estimate(chars: u32, fixed: u32) -> f64 {
    f64::from(chars) / USUAL.chars_per_token + USUAL.per_block + f64::from(fixed)
}

pub fn of_block(block: &Block) -> f64 {
    estimate(block.chars, block.fixed_tokens)
}

/// Whether a block is thinking that the client sends back without its text.
pub fn is_hidden_thinking(block: &Block) -> bool {
    block.kind == Kind::Thinking && block.chars == 0
}

pub fn of_message(message: &Message) -> f64 {
    message.blocks.iter().map(of_block).sum()
}

/// The ratio of the provider's figures to the estimates, for one conversation and model.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Calibration {
    factor: Option<f64>,
    /// The estimate of the request that `factor` was learned from.
    basis: f64,
    /// The hash of the model's name: another model may have another tokenizer.
    model: Option<u64>,
    /// The scale of the model's family, until a report replaces it.
    family: Option<f64>,
}

impl Calibration {
    /// Learns from a request that was estimated at `estimated` and billed at `reported` tokens. The newest report
    /// contains most of the earlier ones (the history is resent), so it wins. A small request after a large one does
    /// not: the fixed overhead (the provider's own tool prompt, framing) dominates it and would distort the size of a
    /// token. Figures that no tokenizer could produce are ignored.
    pub fn learn(&mut self, estimated: f64, reported: u64) {
        let factor = reported as f64 / estimated;
        let tells = estimated >= TELLING.min(self.basis / 2.0);
        if reported > 0 && (0.2..5.0).contains(&factor) && tells {
            (self.factor, self.basis) = (Some(factor), estimated);
        }
    }

    /// Names the model of the next request: until a report, the scale is that of its family's tokenizer.
    pub fn expects(&mut self, model: &str) {
        self.family = Some(USUAL.chars_per_token / weights(model, USUAL).chars_per_token);
    }

    /// Names the model of the next report. The first report of another model counts whatever its size.
    pub fn is_for(&mut self, model: &str) {
        let mut hasher = DefaultHasher::new();
        model.hash(&mut hasher);
        let model = Some(hasher.finish());
        if std::mem::replace(&mut self.model, model) != model {
            self.basis = 0.0;
        }
    }

    /// Whether the provider has confirmed the scale; until then figures are shown with `≈`.
    pub fn is_calibrated(&self) -> bool {
        self.factor.is_some()
    }

    pub fn tokens(&self, estimated: f64) -> u64 {
        (estimated * self.scale()).round() as u64
    }

    /// The estimate of content that the provider counts as so many tokens.
    pub fn estimate(&self, tokens: u64) -> f64 {
        tokens as f64 / self.scale()
    }

    fn scale(&self) -> f64 {
        self.factor.or(self.family).unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_provider_corrects_the_estimate_and_nonsense_does_not() {
        let mut calibration = Calibration::default();
        assert_eq!((calibration.tokens(1000.0), calibration.is_calibrated()), (1000, false));
        calibration.learn(1000.0, 1250);
        assert_eq!((calibration.tokens(2000.0), calibration.is_calibrated()), (2500, true));
        calibration.learn(1000.0, 0);
        calibration.learn(1000.0, 1_000_000);
        assert_eq!(calibration.tokens(2000.0), 2500);
    }

    #[test]
    fn before_a_report_the_family_of_the_model_tells_the_size_of_a_token() {
        let tokens = |model: &str| {
            let mut calibration = Calibration::default();
            calibration.expects(model);
            assert!(!calibration.is_calibrated(), "{model}");
            calibration.tokens(1000.0)
        };
        assert_eq!([tokens("claude-opus-5"), tokens("gpt-5.5"), tokens("deepseek-chat")], [1000, 839, 846]);
        assert_eq!(tokens("of no known family"), 1000);
        let mut calibration = Calibration::default();
        calibration.learn(1000.0, 1250);
        calibration.expects("gpt-5.5");
        assert_eq!(calibration.tokens(1000.0), 1250, "a report counts more");
    }

    #[test]
    fn a_small_request_does_not_rescale_a_large_conversation() {
        let mut calibration = Calibration::default();
        calibration.learn(16_000.0, 14_000);
        calibration.learn(150.0, 640);
        assert_eq!(calibration.tokens(16_000.0), 14_000);
        calibration.learn(9_000.0, 9_000);
        assert_eq!(calibration.tokens(16_000.0), 16_000, "a request of comparable size does");
        calibration.learn(200_000.0, 220_000);
        calibration.learn(6_000.0, 6_000);
        assert_eq!(calibration.tokens(16_000.0), 16_000, "and one after a compaction");
        calibration.is_for("another model");
        calibration.learn(1_000.0, 1_500);
        assert_eq!(calibration.tokens(16_000.0), 24_000, "so does the first one of another model");
    }
}
