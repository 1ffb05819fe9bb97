//! What a process says on standard error while it runs, for those who ask for it.
//!
//! Servers never wait for whoever reads: lines go to a thread of their own, and where it falls behind they are dropped
//! and counted.

use anyhow::{Context, anyhow};
use std::fmt;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{self, FormatEvent, FormatFields};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormattedFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

/// Where the filter is looked for unless the command line has it.
const VARIABLE: &str = "NIMBUS_LOG";
/// Most lines that wait to be written.
const LINES_MAX: usize = 8192;
/// How long the end of the process waits for lines to be written.
const FLUSH_MAX: Duration = Duration::from_secs(1);

static PROCESS: OnceLock<String> = OnceLock::new();
static PRINTER: OnceLock<SyncSender<Order>> = OnceLock::new();
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Says something on standard output, for those who read it: whoever started a server may have stopped to, and that must not
/// end it.
pub(crate) fn say(line: &str) {
    _ = writeln!(io::stdout(), "{line}");
}

enum Order {
    Print(Vec<u8>),
    /// Answered when everything before it is written.
    Flush(SyncSender<()>),
}

/// Begins to write what the filter lets through. Without a filter, here or in the environment, nothing is written and
/// nothing is worked out.
pub(crate) fn begin(filter: Option<&str>) -> anyhow::Result<()> {
    let of_environment = std::env::var(VARIABLE).ok();
    let Some(filter) = filter.or(of_environment.as_deref()).filter(|filter| !filter.trim().is_empty()) else {
        return Ok(());
    };
    let wanted: Targets = filter.parse().map_err(|error| {
        let example = "write for example nimbus::handover, or info,quinn=warn";
        anyhow!("`{filter}` says nothing about what to log; {example} ({error})")
    })?;
    let (sender, orders) = sync_channel(LINES_MAX);
    let printer = move || print(&orders, &DROPPED, io::stderr());
    std::thread::Builder::new().name("log".to_owned()).spawn(printer).context("cannot start a thread")?;
    _ = PRINTER.set(sender.clone());
    let lines = tracing_subscriber::fmt::layer()
        .event_format(LineFormat)
        .with_writer(move || Paper { printer: sender.clone(), dropped: &DROPPED });
    tracing_subscriber::registry().with(wanted).with(lines).try_init().context("cannot log")
}

/// Says which process of a cluster this is, for its lines.
pub(crate) fn name(process: &str) {
    _ = PROCESS.set(process.to_owned());
}

/// Waits until what was said is written, for a moment at the most.
pub(crate) fn flush() {
    let Some(printer) = PRINTER.get() else { return };
    let (written, done) = sync_channel(1);
    if printer.try_send(Order::Flush(written)).is_ok() {
        _ = done.recv_timeout(FLUSH_MAX);
    }
}

/// Time, level, process, target, and then what there is to say.
struct LineFormat;

impl<S, N> FormatEvent<S, N> for LineFormat
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: format::Writer<'_>,
        event: &tracing::Event<'_>,
    ) -> fmt::Result {
        SystemTime.format_time(&mut writer)?;
        let (of, process) = (event.metadata(), PROCESS.get().map_or("nimbus", String::as_str));
        write!(writer, " {} {process} {}: ", of.level(), of.target())?;
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            write!(writer, "{}", span.name())?;
            if let Some(fields) = span.extensions().get::<FormattedFields<N>>().filter(|fields| !fields.is_empty()) {
                write!(writer, "{{{fields}}}")?;
            }
            write!(writer, ": ")?;
        }
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

/// What lines are written on: each comes whole.
struct Paper {
    printer: SyncSender<Order>,
    dropped: &'static AtomicU64,
}

impl Write for Paper {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.printer.try_send(Order::Print(line.to_vec())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes lines as they come, and says how many did not.
fn print(orders: &Receiver<Order>, dropped: &AtomicU64, mut out: impl Write) {
    for order in orders {
        let missing = dropped.swap(0, Ordering::Relaxed);
        if missing > 0 {
            // There is nobody to tell that nobody can be told.
            _ = writeln!(out, "nimbus: {missing} lines of the log were dropped");
        }
        match order {
            Order::Print(line) => _ = out.write_all(&line),
            Order::Flush(written) => _ = written.try_send(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_dropped_and_counted() {
        static MISSING: AtomicU64 = AtomicU64::new(0);
        let (printer, orders) = sync_channel(2);
        let mut paper = Paper { printer, dropped: &MISSING };
        for line in ["one\n", "two\n", "three\n", "four\n"] {
            paper.write_all(line.as_bytes()).unwrap();
        }
        drop(paper);
        let mut out = Vec::new();
        print(&orders, &MISSING, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "nimbus: 2 lines of the log were dropped\none\ntwo\n");
        assert_eq!(MISSING.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn only_what_can_be_read_is_a_filter() {
        for filter in ["nimbus::handover", "info", "nimbus=debug,quinn=warn", "off"] {
            assert!(filter.parse::<Targets>().is_ok(), "{filter}");
        }
        assert!("nimbus=loud".parse::<Targets>().is_err());
    }
}
