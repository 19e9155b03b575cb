//! `[retention]`: the removal of old conversations.

use ctx_core::ErrorCode;
use ctx_server::RetentionSettings;
use ctx_service::Retention;

use crate::ConfigError;
use crate::sections::RetentionKeys;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

pub(crate) fn settings(keys: &RetentionKeys) -> Result<Option<RetentionSettings>, ConfigError> {
    let RetentionKeys { content_days, figures_days, edited } = *keys;
    let Some(content) = content_days else {
        return match figures_days {
            Some(_) => Err(refuse("`retention.figures_days` is set, and `retention.content_days` is not")),
            None => Ok(None),
        };
    };
    if figures_days.is_some_and(|figures| figures < content) {
        return Err(refuse("`retention.figures_days` is smaller than `retention.content_days`"));
    }
    let rules = Retention {
        content: content * DAY_MS,
        figures: figures_days.map(|days| days * DAY_MS),
        edited: edited.unwrap_or(false),
    };
    Ok(Some(RetentionSettings::new(rules)))
}

fn refuse(why: &str) -> ConfigError {
    let hint = "figures stay at least as long as the content, for example content_days = 30 and figures_days = 400";
    ConfigError::new(ErrorCode::Config, why).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stay_at_least_as_long_as_the_content() {
        let of = |content_days, figures_days| settings(&RetentionKeys { content_days, figures_days, edited: None });
        assert_eq!(of(None, None).expect("settings"), None);
        let rules = of(Some(30), Some(400)).expect("settings").expect("rules").rules;
        assert_eq!(rules, Retention { content: 30 * DAY_MS, figures: Some(400 * DAY_MS), edited: false });
        assert!(of(Some(30), None).is_ok_and(|kept| kept.is_some_and(|kept| kept.rules.figures.is_none())));
        assert!(of(None, Some(400)).is_err());
        assert!(of(Some(30), Some(29)).is_err());
    }
}
