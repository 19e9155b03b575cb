//! The provider's counts for a conversation: the size of its tokens, its cost, and its side traffic.

use super::account::Account;
use super::hidden_thinking::HiddenThinking;
use super::side_traffic::Sides;
use ctx_core::tokens::Calibration;

#[derive(Debug, Default)]
pub struct UsageState {
    pub calibration: Calibration,
    pub(super) hidden_thinking: HiddenThinking,
    pub account: Account,
    pub sides: Sides,
}
