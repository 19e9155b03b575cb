//! Targets: the kinds of results that may go.

use serde::{Deserialize, Serialize};

/// A kind of result that may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The model has answered often since.
    StaleToolResults,
    /// Results of a phase that has ended.
    CompletedPhaseDetails,
    /// Files that were read again, or changed, later.
    SupersededFileReads,
    /// Results of a loop of tools that has come to its answer.
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

    /// Why a result of this target goes, for people who read the history.
    pub fn reason(self) -> String {
        format!("{} ({})", self.name(), self.in_words())
    }

    fn in_words(self) -> &'static str {
        match self {
            Target::StaleToolResults => "an old result",
            Target::CompletedPhaseDetails => "of a phase that has ended",
            Target::SupersededFileReads => "read again or changed later",
            Target::IntermediateOutputs => "an intermediate output of a finished task",
            Target::VerboseDebug => "a long output",
        }
    }
}
