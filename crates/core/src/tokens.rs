//! How many tokens something will cost: an estimate, corrected by what the provider reports.

use crate::message::{Block, Message};

/// Characters a token stands for, and what each block costs on top (measured on recorded sessions).
const CHARS_PER_TOKEN: f64 = 2.92;
const PER_BLOCK: f64 = 31.0;

/// The uncorrected estimate for one block.
pub fn estimate(chars: u32, fixed: u32) -> f64 {
    f64::from(chars) / CHARS_PER_TOKEN + PER_BLOCK + f64::from(fixed)
}

pub fn of_block(block: &Block) -> f64 {
    estimate(block.chars, block.fixed_tokens)
}

pub fn of_message(message: &Message) -> f64 {
    message.blocks.iter().map(of_block).sum()
}

/// What the provider's own figures say about our estimates, for one conversation and model.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Calibration {
    factor: Option<f64>,
}

impl Calibration {
    /// Learns from a request that was estimated at `estimated` and billed at `reported` tokens.
    /// The newest report holds most of the earlier ones (the history is resent), so it wins;
    /// figures that no tokenizer could give are ignored.
    pub fn learn(&mut self, estimated: f64, reported: u64) {
        let factor = reported as f64 / estimated;
        if reported > 0 && (0.2..5.0).contains(&factor) {
            self.factor = Some(factor);
        }
    }

    /// Whether the provider has confirmed the scale; until then figures are shown with `≈`.
    pub fn is_calibrated(&self) -> bool {
        self.factor.is_some()
    }

    pub fn tokens(&self, estimated: f64) -> u64 {
        (estimated * self.factor.unwrap_or(1.0)).round() as u64
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
}
