//! Lists branches and tags.

use ctx_api::history::{Branches, Tags};

use super::How;
use crate::client::understood;
use crate::failure::Failure;
use crate::output::paint::{FAINT, GOOD, ID, PLAIN, STRONG};
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, words};

#[derive(Clone, Copy, Debug)]
pub enum Names {
    Branches,
    Tags,
}

impl Names {
    pub(super) fn place(self) -> &'static str {
        match self {
            Self::Branches => "branches",
            Self::Tags => "tags",
        }
    }

    pub(super) fn tell(self, answer: &[u8], how: &How, output: &Output) -> Result<(), Failure> {
        if how.format.json {
            return Ok(output.json(answer)?);
        }
        let told = match self {
            Self::Branches => branches(&understood(answer)?, output),
            Self::Tags => tags(&understood(answer)?, ctx_service::now(), output),
        };
        Ok(output.print(&told)?)
    }
}

fn branches(found: &Branches, output: &Output) -> String {
    let columns = [Column::Left(" "), Column::Flexible("BRANCH"), Column::Left("COMMIT"), Column::Right("COMMITS")];
    let mut table = Table::new(&columns);
    for branch in &found.branches {
        table.row([
            Cell::styled(if branch.current { "*" } else { "" }, GOOD),
            Cell::styled(&branch.name, if branch.current { STRONG } else { PLAIN }),
            branch.head.map_or_else(|| Cell::styled("none yet", FAINT), |head| Cell::styled(&head.to_string(), ID)),
            words::count(branch.commits as u64).into(),
        ]);
    }
    table.render(output)
}

fn tags(found: &Tags, now: u64, output: &Output) -> String {
    if found.tags.is_empty() {
        return "No tags yet. `ctx tag NAME` tags the newest commit.\n".to_owned();
    }
    let columns = [Column::Left("TAG"), Column::Left("COMMIT"), Column::Left("WHEN"), Column::Flexible("WHAT")];
    let mut table = Table::new(&columns).dispensing(&["WHEN"]);
    for tag in &found.tags {
        table.row([
            Cell::styled(&tag.name, STRONG),
            Cell::styled(&tag.commit.to_string(), ID),
            words::ago(now, tag.at).into(),
            words::grouped(&tag.summary).into(),
        ]);
    }
    table.render(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_listed_and_the_one_that_counts_is_marked() {
        let json = r#"{"conversation":"c1","branch":"trial","branches":[{"name":"main","head":"00000000a1","current":false,
            "commits":1200},{"name":"trial","head":null,"current":true,"commits":0}]}"#;
        let found = serde_json::from_str(json).expect("branches");
        insta::assert_snapshot!(branches(&found, &Output::plain()), @r"
           BRANCH  COMMIT      COMMITS
           main    00000000a1    1,200
        *  trial   none yet          0
        ");
    }

    #[test]
    fn tags_are_listed_with_what_they_name() {
        let json = r#"{"conversation":"c1","tags":[{"name":"good","commit":"00000000a1","at":1000,
            "summary":"delete t3, 4120 tokens less"}]}"#;
        let found = serde_json::from_str(json).expect("tags");
        insta::assert_snapshot!(tags(&found, 62_000, &Output::plain()), @r"
        TAG   COMMIT      WHEN       WHAT
        good  00000000a1  1 min ago  delete t3, 4,120 tokens less
        ");
        assert!(
            tags(&Tags { conversation: "c1".to_owned(), tags: vec![] }, 0, &Output::plain()).contains("No tags yet")
        );
    }
}
