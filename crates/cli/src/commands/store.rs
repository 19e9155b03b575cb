//! `ctx store`: copies a store between a file and a database, prepares a database, and checks it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ctx_core::ErrorCode;
use ctx_store::{CopyReport, Owner, PostgresAddress, PostgresStore, Progress, StoreError, copy};
use serde_json::json;

use crate::arguments::{JsonArguments, non_empty};
use crate::config::store::{parse, with_password};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::busy::Busy;
use crate::output::words;
use crate::owners::{self, LOG, Stores, StoresHealth};

/// Copy conversations between a file and a database, or prepare a database
#[derive(Args, Debug)]
#[command(
    after_help = "CTX_STORE_PASSWORD, or a file named by CTX_STORE_PASSWORD_FILE, is the password of the database.

Examples:
  ctx store migrate postgres://ctx@db.example/ctx
  ctx store copy ~/.local/share/ctx postgres://ctx@db.example/ctx
  ctx store check"
)]
pub struct Arguments {
    #[command(subcommand)]
    verb: StoreVerb,
}

#[derive(Subcommand, Debug)]
enum StoreVerb {
    /// Copy all conversations into another store, and compare them
    #[command(after_help = "Example:\n  ctx store copy ~/.local/share/ctx postgres://ctx@db.example.com/ctx")]
    Copy {
        /// A home, or postgres://USER@HOST/DATABASE
        #[arg(value_parser = non_empty)]
        from: String,
        /// A home, or postgres://USER@HOST/DATABASE
        #[arg(value_parser = non_empty)]
        to: String,
        #[command(flatten)]
        format: JsonArguments,
    },
    /// Bring the tables of a database to this version
    #[command(after_help = "Example:\n  ctx store migrate postgres://ctx@db.example.com/ctx")]
    Migrate {
        /// The database [default: the daemon's]
        #[arg(value_parser = non_empty)]
        database: Option<String>,
        #[command(flatten)]
        format: JsonArguments,
    },
    /// Read and verify everything in a store
    #[command(after_help = "Example:\n  ctx store check")]
    Check {
        /// A home, or postgres://USER@HOST/DATABASE [default: the daemon's]
        #[arg(value_parser = non_empty)]
        store: Option<String>,
        #[command(flatten)]
        format: JsonArguments,
    },
}

/// A store on the command line.
enum Place {
    Home(PathBuf),
    Database(Box<PostgresAddress>),
}

impl Place {
    fn named(text: &str, context: &Context) -> Result<Self, Failure> {
        if !PostgresAddress::is_meant(text) {
            return Ok(Self::Home(PathBuf::from(text)));
        }
        let address = parse("the address", text)?;
        Ok(Self::Database(Box::new(with_password(address, &context.environment, None)?)))
    }

    /// The daemon's own.
    fn own(context: &Context) -> Result<Self, Failure> {
        let home = context.home()?;
        Ok(match context.database(&home)? {
            Some(address) => Self::Database(Box::new(address)),
            None => Self::Home(home.path().to_owned()),
        })
    }

    fn stores(&self) -> Result<Stores, Failure> {
        let (folder, address) = match self {
            Self::Home(folder) => (folder.as_path(), None),
            Self::Database(address) => (Path::new(""), Some(&**address)),
        };
        Ok(Stores::open(folder, address)?)
    }
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    match arguments.verb {
        StoreVerb::Copy { from, to, format } => copied(&from, &to, format.json, context),
        StoreVerb::Migrate { database, format } => migrated(database.as_deref(), format.json, context),
        StoreVerb::Check { store, format } => checked(store.as_deref(), format.json, context),
    }
}

fn copied(from: &str, to: &str, json: bool, context: &Context) -> Result<ExitCode, Failure> {
    let (from, to) = (Place::named(from, context)?.stores()?, Place::named(to, context)?.stores()?);
    let busy = Busy::start("copying and comparing");
    let (report, people) = copy_all(&from, &to, &busy.progress())?;
    drop(busy);
    if json {
        let answer = json!({
            "conversations": report.conversations,
            "records": report.records,
            "notes": report.notes,
            "skipped": report.skipped,
            "people": people,
        });
        context.output.json(answer.to_string().as_bytes())?;
    } else {
        let mut said = format!(
            "Copied {} and {}. {}{} compared: equal.\n",
            words::plural(report.records, "record"),
            words::plural(report.notes, "note"),
            words::plural(report.conversations, "conversation"),
            owners::of_people(people),
        );
        if report.skipped > 0 {
            said.push_str(&format!("{} left out as damaged.\n", words::plural(report.skipped, "record")));
        }
        context.output.print(&said)?;
    }
    Ok(if report.skipped == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Copies the stores of all owners. The log of a team comes first: it tells whether the target has the same team, and
/// an interrupted copy leaves no people without it.
fn copy_all(from: &Stores, to: &Stores, progress: &Progress) -> Result<(CopyReport, Option<u64>), Failure> {
    let (source, target) = (from.reader(Owner::SOLE)?, to.store(Owner::SOLE)?);
    let owners = from.owners()?;
    if owners == [Owner::SOLE] {
        return Ok((copy(&*source, &*target, progress)?, None));
    }
    let team = from.team().map_err(|failure| match failure.code == ErrorCode::StoreDamaged {
        true => without_log(format!("the team's log cannot be copied, and it may have revoked a key: {failure}")),
        false => failure,
    })?;
    let people: Vec<Owner> = owners.into_iter().filter(owners::is_person).collect();
    if team.entries().is_empty() && !people.is_empty() {
        return Err(without_log("there are conversations of people, but nobody is in the team's log".to_owned()));
    }
    if to.owners()?.iter().any(owners::is_person) && to.team()?.entries().is_empty() {
        return Err(other_team());
    }
    let copied = copy(&*from.reader(LOG)?, &*to.store(LOG)?, progress).map_err(|error| match error {
        StoreError::OtherContent { .. } => other_team(),
        error => error.into(),
    })?;
    let mut report = CopyReport { conversations: 0, ..copied };
    report += copy(&*source, &*target, progress)?;
    for owner in &people {
        let copied = from.reader(*owner).and_then(|reader| copy(&*reader, &*to.store(*owner)?, progress));
        report += copied.map_err(|error| {
            let mut failure = Failure::from(error);
            failure.message = format!("{}: {failure}", owners::in_words(*owner, &team));
            failure
        })?;
    }
    Ok((report, Some(people.len() as u64)))
}

fn without_log(message: String) -> Failure {
    Failure::new(ErrorCode::StoreDamaged, message)
        .hint("nothing was copied; restore the log of the source from a backup (people/log in a home) and copy again")
}

fn other_team() -> Failure {
    Failure::new(ErrorCode::StoreOtherContent, "the target has other people, keys or shares than the source")
        .hint("copy into an empty home or database")
}

fn migrated(database: Option<&str>, json: bool, context: &Context) -> Result<ExitCode, Failure> {
    let place = database.map_or_else(|| Place::own(context), |text| Place::named(text, context))?;
    let Place::Database(address) = place else {
        return Err(Failure::new(ErrorCode::StoreAddress, "the store is a file; it needs no migration")
            .hint("name a database: ctx store migrate postgres://USER@HOST/DATABASE"));
    };
    let migration = PostgresStore::migrate(&address)?;
    if json {
        let answer = json!({ "from": migration.from, "to": migration.to, "reader": migration.has_reader });
        context.output.json(answer.to_string().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut said = match migration.from == migration.to {
        true => format!("{address} has version {} already.\n", migration.to),
        false => format!("{address}: version {} became {}.\n", migration.from, migration.to),
    };
    if !migration.has_reader {
        said.push_str(&format!(
            "This login cannot make or use the role {}, so people's reads are kept apart by the queries alone.\n\
             Let an administrator of the server create it and grant it to this login, and run this again.\n",
            migration.reader
        ));
    }
    context.output.print(&said)?;
    Ok(ExitCode::SUCCESS)
}

fn checked(store: Option<&str>, json: bool, context: &Context) -> Result<ExitCode, Failure> {
    let place = store.map_or_else(|| Place::own(context), |text| Place::named(text, context))?;
    let busy = Busy::start("reading the whole store");
    let StoresHealth { health, people } = place.stores()?.check(&busy.progress())?;
    drop(busy);
    let counts = health.counts;
    if json {
        let findings: Vec<&str> = health.findings.iter().map(|finding| finding.sentence.as_str()).collect();
        let answer = json!({
            "sound": health.is_sound(),
            "conversations": counts.conversations,
            "records": counts.records,
            "blobs": counts.blobs,
            "notes": counts.notes,
            "people": people,
            "findings": findings,
        });
        context.output.json(answer.to_string().as_bytes())?;
    } else {
        let mut said = format!(
            "{} of {}, {} and {}{} were read.\n",
            words::plural(counts.records, "record"),
            words::plural(counts.conversations, "conversation"),
            words::plural(counts.blobs, "blob"),
            words::plural(counts.notes, "note"),
            owners::of_people(people),
        );
        for finding in &health.findings {
            said.push_str(&format!("{}\n  → {}\n", finding.sentence, finding.advice));
        }
        context.output.print(&said)?;
    }
    Ok(if health.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
