//! Targets: the kinds of clearable results.

use serde::{Deserialize, Serialize};

/// A kind of clearable result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// Followed by many answers of the model.
    StaleToolResults,
    /// Results of a phase that has ended.
    CompletedPhaseDetails,
    /// Reads of files that were read again, or changed, later.
    SupersededFileReads,
    /// Results of a tool loop that has ended in an answer.
    IntermediateOutputs,
    /// Long outputs of commands.
    VerboseDebug,
}

impl Target {
    pub const ALL: [Target; 5] = [
        Target::StaleToolResults,
        Target::CompletedPhaseDetails,
        Target::SupersededFileReads,
        Target::IntermediateOutputs,
        Target::VerboseDebug,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Target::StaleToolResults => "stale_tool_results",
            Target::CompletedPhaseDetails => "completed_phase_details",
            Target::SupersededFileReads => "superseded_file_reads",
            Target::IntermediateOutputs => "intermediate_outputs",
            Target::VerboseDebug => "verbose_debug",
        }
    }

    pub fn named(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }

    /// Why a result of this target is cleared, for the history.
    pub fn reason(self) -> String {
        format!("{} ({})", self.name(), self.in_words())
    }

    fn in_words(self) -> &'static str {
        match self {
            Target::StaleToolResults => "an old result",
            Target::CompletedPhaseDetails => "from a finished phase",
            Target::SupersededFileReads => "read again or changed later",
            Target::IntermediateOutputs => "intermediate output of a finished task",
            Target::VerboseDebug => "long output",
        }
    }
}
