//! The context of every verb: environment, output, and access to the selected daemon.

use std::io::Write as _;

use ctx_store::PostgresAddress;

use crate::arguments::{DaemonArguments, PlaceArguments};
use crate::autostart;
use crate::client::{Client, LocalClient, Whereabouts};
use crate::config::Settings;
use crate::env::Environment;
use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::home::Home;
use crate::output::Output;

pub struct Context {
    pub place: PlaceArguments,
    pub environment: Environment,
    pub output: Output,
}

impl Context {
    pub fn of_process(place: PlaceArguments) -> Self {
        let environment = Environment::Process;
        let output = Output::of_process(&environment);
        Self { place, environment, output }
    }

    pub fn home(&self) -> Result<Home, Failure> {
        Home::find(self.place.home.as_deref(), &self.environment).map_err(Failure::from)
    }

    /// The database of the daemon, if its store is not a file in the home.
    pub fn database(&self, home: &Home) -> Result<Option<PostgresAddress>, Failure> {
        let flags = DaemonArguments::default().flags(&self.place)?;
        let folder = std::env::current_dir().unwrap_or_default();
        Ok(Settings::load(&flags, &self.environment, home, &folder)?.store)
    }

    /// The daemon, for a verb that needs one: offers to start it in a terminal.
    pub fn client(&self) -> Result<Client, Failure> {
        match autostart::somebody_is_there() {
            true => autostart::or_start(self.found().and_then(Client::there), self),
            false => self.found(),
        }
    }

    /// The running daemon, as far as is known without a request.
    pub fn found(&self) -> Result<Client, Failure> {
        Client::find(&self.whereabouts()?)
    }

    /// The same on this machine, also while a gateway is chosen.
    pub fn local(&self) -> Result<LocalClient, Failure> {
        LocalClient::find(&self.whereabouts()?)
    }

    pub fn whereabouts(&self) -> Result<Whereabouts, Failure> {
        Ok(Whereabouts {
            home: self.home()?,
            flag: self.place.listen,
            gateway: self.place.gateway()?,
            environment: self.environment.clone(),
        })
    }

    /// The chosen gateway; `None` if the daemon is on this machine.
    pub fn gateway(&self) -> Result<Option<Gateway>, Failure> {
        self.whereabouts()?.gateway()
    }

    /// Prints a note that is neither output nor an error.
    pub fn note(&self, note: &str) {
        let paint = &self.output.for_errors;
        // A reader that has gone, as in `ctx init 2>&1 | head`, is no reason to stop.
        let _ =
            writeln!(std::io::stderr(), "{} {}", paint.warning("note:"), crate::output::text::block(note).trim_end());
    }
}
