//! Windows: a task of the user that starts at logon, because a real service would need an administrator. Written by the
//! documentation of the task scheduler; never run.

use std::path::PathBuf;

use super::{Definition, Manager};
use crate::env::{self, Environment};

pub static MANAGER: Manager = Manager {
    name: "the task scheduler",
    file,
    text,
    enable: &[
        &["schtasks", "/Create", "/F", "/TN", "Context Composer", "/XML", "{file}"],
        &["schtasks", "/Run", "/TN", "Context Composer"],
    ],
    disable: &[
        &["schtasks", "/End", "/TN", "Context Composer"],
        &["schtasks", "/Delete", "/F", "/TN", "Context Composer"],
    ],
    forget: &[],
    restart: &["schtasks", "/Run", "/TN", "Context Composer"],
    reach: &["schtasks", "/Query"],
    probe: &["schtasks", "/Query", "/TN", "Context Composer"],
    hint: "run the daemon with `ctx up`; nothing was changed",
};

fn file(environment: &Environment) -> Option<PathBuf> {
    Some(PathBuf::from(environment.get(env::LOCAL_APP_DATA)?).join("ctx").join("service.xml"))
}

fn text(definition: &Definition) -> String {
    let program = escaped(&definition.program.to_string_lossy());
    let arguments: Vec<String> = definition.arguments.iter().map(|argument| quoted(argument)).collect();
    let arguments = escaped(&arguments.join(" "));
    format!(
        r#"<?xml version="1.0"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>Context Composer</Description></RegistrationInfo>
  <Triggers><LogonTrigger><Enabled>true</Enabled></LogonTrigger></Triggers>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>255</Count></RestartOnFailure>
  </Settings>
  <Actions><Exec><Command>{program}</Command><Arguments>{arguments}</Arguments></Exec></Actions>
</Task>
"#
    )
}

/// Quoted as the C runtime splits command lines. Arguments of the daemon do not end with a backslash.
fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty() && !word.contains([' ', '\t', '"']);
    if is_plain { word.to_owned() } else { format!("\"{}\"", word.replace('"', "\\\"")) }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_starts_at_logon_without_a_time_limit() {
        let task = text(&super::super::example());
        assert!(task.contains("<Command>/opt/my tools/ctx</Command>"), "{task}");
        let arguments = "<Arguments>up --service --home \"/home/me/50% &amp; \\\"more\\\"\"</Arguments>";
        assert!(task.contains(arguments) && task.contains("<LogonTrigger>") && task.contains("PT0S"), "{task}");
        let place = file(&Environment::of(&[("LOCALAPPDATA", "/l")])).expect("a file");
        assert!(place.ends_with("ctx/service.xml"));
    }
}
