//! The test kit on the command line: `cargo run -p testkit -- fake-provider` starts a provider to try `ctx` without a
//! key.

use clap::{Args, Parser, Subcommand};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use testkit::fake_provider::{FakeProvider, Options, VOLATILE_SYSTEM};
use testkit::{IdentityProvider, RegisteredClient};

#[derive(Parser)]
#[command(version, about = "Tools for testing ctx")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// A scripted stand-in for the Anthropic Messages API, on 127.0.0.1
    FakeProvider(Provider),
    /// A strict stand-in for an identity provider (OpenID Connect), on 127.0.0.1
    IdentityProvider(Identity),
    /// Compare `ctx` with nginx; `cargo xtask bench` builds both and calls this
    #[cfg(target_os = "linux")]
    Bench(Bench),
    /// The bench's upstream: prints its address and ends with its standard input
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    BenchSink,
}

#[cfg(target_os = "linux")]
#[derive(Args)]
struct Bench {
    /// The `ctx` binary
    #[arg(long, value_name = "FILE")]
    ctx: PathBuf,
    #[arg(long, value_name = "FILE", default_value = "nginx")]
    nginx: PathBuf,
    /// Fewer rounds: two minutes instead of eight
    #[arg(long)]
    quick: bool,
    /// Run only this series
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(testkit::bench::names()))]
    only: Option<String>,
    /// Write the result here as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Args)]
struct Identity {
    /// 0 picks a free one
    #[arg(long, default_value_t = 9200)]
    port: u16,
    /// Write the port number to this file once listening
    #[arg(long, value_name = "FILE")]
    port_file: Option<PathBuf>,
    #[arg(long, default_value = "ctx")]
    client: String,
    #[arg(long, default_value = "secret")]
    secret: String,
    /// The only address to which browsers are sent back
    #[arg(long, value_name = "URL")]
    redirect: String,
}

#[derive(Args)]
struct Provider {
    /// 0 picks a free one
    #[arg(long, default_value_t = 9100)]
    port: u16,
    /// Write the port number to this file once listening
    #[arg(long, value_name = "FILE")]
    port_file: Option<PathBuf>,
    /// Write every request to this folder as JSON
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Also write the raw body
    #[arg(long)]
    record_raw: bool,
    /// Refuse everything that the real API refuses
    #[arg(long)]
    strict: bool,
    /// Refuse (or drop on request) thinking whose prefix was altered
    #[arg(long)]
    bind_thinking: bool,
    /// Compress responses if accepted
    #[arg(long)]
    gzip: bool,
    /// Seconds of retry-after on 429 and 529
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    retry_after: u64,
    /// Answer unknown paths with 200 {} instead of 404
    #[arg(long)]
    unknown_200: bool,
    /// Extra response header; repeatable
    #[arg(long = "header", value_name = "NAME:VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// System blocks starting with this do not count for the prompt cache
    #[arg(long, value_name = "TEXT", default_value = VOLATILE_SYSTEM)]
    volatile_system: String,
    /// Edit prompts on request, and refuse invalid requests for that
    #[arg(long)]
    context_editing: bool,
    /// Search deferred tools on request.
    #[arg(long)]
    tool_search: bool,
    /// Discard bodies of answered requests, for long runs
    #[arg(long)]
    forget_bodies: bool,
}

fn header(argument: &str) -> Result<(String, String), String> {
    argument
        .split_once(':')
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| "write it as NAME:VALUE".to_owned())
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::FakeProvider(provider) => fake_provider(provider),
        Command::IdentityProvider(arguments) => match identity_provider(arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("The identity provider cannot run: {error}");
                ExitCode::FAILURE
            }
        },
        #[cfg(target_os = "linux")]
        Command::Bench(plan) => bench(plan),
        #[cfg(target_os = "linux")]
        Command::BenchSink => bench_sink(),
    }
}

#[cfg(target_os = "linux")]
fn bench(Bench { ctx, nginx, quick, only, json }: Bench) -> ExitCode {
    match testkit::bench::run(&testkit::bench::Plan { ctx, nginx, quick, only, json }) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(missed) => {
            eprintln!("{missed} goals were missed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("The bench cannot go on: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(target_os = "linux")]
fn bench_sink() -> ExitCode {
    match testkit::bench::sink::start() {
        Ok(address) => {
            println!("{address}");
            // The parent process holds the other end.
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("The sink cannot listen: {error}");
            ExitCode::FAILURE
        }
    }
}

fn fake_provider(provider: Provider) -> ExitCode {
    let port = provider.port;
    match run(provider) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("The fake provider cannot run: {error}");
            if error.kind() == io::ErrorKind::AddrInUse {
                eprintln!("Port {port} is taken; choose another one with --port, or 0 for a free one.");
            }
            ExitCode::FAILURE
        }
    }
}

fn identity_provider(arguments: Identity) -> io::Result<()> {
    let Identity { port, port_file, client, secret, redirect } = arguments;
    let provider = IdentityProvider::start(port, RegisteredClient { id: client, secret, redirect })?;
    if let Some(file) = &port_file {
        announce(file, provider.port())?;
    }
    println!("identity provider on {}", provider.issuer());
    loop {
        std::thread::park();
    }
}

fn run(arguments: Provider) -> io::Result<()> {
    let provider = FakeProvider::start(Options {
        port: arguments.port,
        strict: arguments.strict,
        bind_thinking: arguments.bind_thinking,
        gzip: arguments.gzip,
        record: arguments.record,
        record_raw: arguments.record_raw,
        retry_after: arguments.retry_after,
        headers: arguments.headers,
        unknown_ok: arguments.unknown_200,
        volatile_system: arguments.volatile_system,
        context_editing: arguments.context_editing.then(Default::default),
        tool_search: arguments.tool_search,
        models: Vec::new(),
        forget_bodies: arguments.forget_bodies,
    })?;
    if let Some(file) = &arguments.port_file {
        announce(file, provider.address().port())?;
    }
    println!("fake provider on {}", provider.url());
    // It serves on its own threads until the process ends.
    loop {
        std::thread::park();
    }
}

/// A reader of the file never sees a partial number.
fn announce(file: &Path, port: u16) -> io::Result<()> {
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(".tmp");
    std::fs::write(&unfinished, port.to_string())?;
    std::fs::rename(&unfinished, file)
}
