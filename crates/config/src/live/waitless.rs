//! Settings for callers that hold a conversation: an answer that takes too long is the previous one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ctx_api::context::ProjectSettings;
use ctx_core::policy::{Mode, Settings};
use ctx_engine::automatic::Rules;
use ctx_service::lookup::Lookup;
use ctx_service::provider::ProviderRules;
use ctx_wire::provider_edits;

/// How long an answer counts. The rules behind it check their files at most once a second.
const FRESH: Duration = Duration::from_millis(250);

/// Rules that wait at most a moment for a disk. A folder whose settings have never been read is not edited.
pub struct WaitlessRules<R> {
    rules: Arc<R>,
    fresh: Duration,
    answers: Lookup<Who, Answer>,
    provider: Lookup<Option<PathBuf>, Arc<provider_edits::Rules>>,
}

/// A folder, and the active skills.
type Who = (Option<PathBuf>, Vec<String>);

/// What the rules say of a folder at one moment, so that no reader mixes old and new.
#[derive(Clone)]
struct Answer {
    settings: Arc<Settings>,
    wrong: Vec<String>,
    project: Option<ProjectSettings>,
}

impl<R: Rules + ProviderRules + 'static> WaitlessRules<R> {
    pub fn new(rules: Arc<R>) -> Self {
        WaitlessRules { rules, fresh: FRESH, answers: Lookup::default(), provider: Lookup::default() }
    }

    /// Asks the rules on the thread of a lookup.
    fn ask(&self, folder: Option<&Path>, skills: &[&str]) -> Option<Answer> {
        let who: Who = (folder.map(Path::to_owned), skills.iter().map(|&skill| skill.to_owned()).collect());
        let (rules, (folder, skills)) = (self.rules.clone(), who.clone());
        self.answers.get(&who, self.fresh, move || {
            let (folder, skills) = (folder.as_deref(), skills.iter().map(String::as_str).collect::<Vec<_>>());
            Answer {
                settings: rules.of(folder, &skills),
                wrong: rules.wrong(folder, &skills),
                project: rules.project(folder, &skills),
            }
        })
    }
}

fn unread(folder: Option<&Path>) -> String {
    let place = folder.map_or_else(|| "the home".to_owned(), |folder| folder.display().to_string());
    format!("the settings of {place} could not be read in time; nothing is edited there until they are")
}

impl<R: Rules + ProviderRules + 'static> Rules for WaitlessRules<R> {
    fn of(&self, folder: Option<&Path>, skills: &[&str]) -> Arc<Settings> {
        self.ask(folder, skills).map(|answer| answer.settings).unwrap_or_else(|| {
            tracing::warn!("{}", unread(folder));
            Arc::new(Settings { mode: Mode::Off, ..ctx_clients::editor_settings() })
        })
    }

    fn wrong(&self, folder: Option<&Path>, skills: &[&str]) -> Vec<String> {
        self.ask(folder, skills).map_or_else(|| vec![unread(folder)], |answer| answer.wrong)
    }

    fn project(&self, folder: Option<&Path>, skills: &[&str]) -> Option<ProjectSettings> {
        self.ask(folder, skills)?.project
    }
}

impl<R: Rules + ProviderRules + 'static> ProviderRules for WaitlessRules<R> {
    fn provider(&self, folder: Option<&Path>) -> Arc<provider_edits::Rules> {
        let (rules, who) = (self.rules.clone(), folder.map(Path::to_owned));
        let read = {
            let who = who.clone();
            move || rules.provider(who.as_deref())
        };
        self.provider.get(&who, self.fresh, read).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// Rules on a disk that answers when it is told to.
    struct Slow {
        answers: Mutex<Receiver<Mode>>,
    }

    impl Rules for Slow {
        fn of(&self, _: Option<&Path>, _: &[&str]) -> Arc<Settings> {
            let mode = self.answers.lock().expect("not poisoned").recv().unwrap_or(Mode::Off);
            Arc::new(Settings { mode, ..ctx_clients::editor_settings() })
        }
    }

    impl ProviderRules for Slow {
        fn provider(&self, _: Option<&Path>) -> Arc<provider_edits::Rules> {
            Arc::default()
        }
    }

    fn slow() -> (Sender<Mode>, WaitlessRules<Slow>) {
        let (answer, answers) = channel();
        let rules = WaitlessRules::new(Arc::new(Slow { answers: Mutex::new(answers) }));
        (answer, WaitlessRules { fresh: Duration::ZERO, ..rules })
    }

    #[test]
    fn a_folder_is_not_edited_until_its_settings_were_read() {
        let (answer, rules) = slow();
        let folder = Some(Path::new("/p"));
        assert_eq!(rules.of(folder, &[]).mode, Mode::Off, "the disk has not answered");
        answer.send(Mode::On).expect("it still reads");
        while rules.of(folder, &[]).mode == Mode::Off {}
        assert_eq!(rules.of(folder, &[]).mode, Mode::On, "the last known settings, although the disk is stuck again");
    }

    #[test]
    fn a_disk_that_answers_is_asked_every_time() {
        let (answer, rules) = slow();
        for mode in [Mode::On, Mode::Ask, Mode::Observe] {
            answer.send(mode).expect("sent");
            assert_eq!(rules.of(None, &[]).mode, mode);
        }
    }
}
