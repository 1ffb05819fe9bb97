//! The page about all experiments.

use std::fmt::Write;

use super::record::{Outcome, Record};
use crate::escape::escape;
use crate::page::STYLE;

/// The page. `left` are the experiments that are still to be run.
pub(super) fn html(records: &[Record], left: &[&str], commit: &str) -> String {
    let met = records.iter().filter(|record| record.outcome == Outcome::Met).count();
    let all = records.len() + left.len();
    let class = if met == all { "met" } else { "unmet" };
    let seconds: f64 = records.iter().map(|record| record.seconds).sum();
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>Experiments</title>\n\
         <style>{STYLE}</style>\n<h1>Experiments</h1>\n<p class=\"verdict {class}\"><strong>{met} of {all} \
         {} met.</strong> Commit {}, {} in all.</p>\n",
        if all == 1 { "bar is" } else { "bars are" },
        escape(commit),
        duration(seconds)
    );
    if !left.is_empty() {
        let _ = writeln!(text, "<p>Not yet run: {}.</p>", escape(&left.join(", ")));
    }
    text += "<div class=\"wide\"><table>\n<tr><th>experiment</th><th>bar</th><th>form</th><th>took</th>\
             <th>commit</th></tr>\n";
    for record in records {
        let other = if record.commit == commit { "" } else { " (other commit)" };
        let _ = writeln!(
            text,
            "<tr><td><a href=\"#{0}\">{0}</a></td><td>{1}</td><td>{2}</td><td>{3}</td><td>{4}{other}</td></tr>",
            escape(&record.experiment),
            escape(&word(record)),
            form(record),
            duration(record.seconds),
            escape(&record.commit)
        );
    }
    text += "</table></div>\n";
    records.iter().for_each(|record| text += &section(record));
    text + "</html>\n"
}

fn section(record: &Record) -> String {
    let name = escape(&record.experiment);
    let class = if record.outcome == Outcome::Met { "met" } else { "unmet" };
    let link = if record.outcome == Outcome::Failed {
        format!("<a href=\"{name}.log\">what it said</a>")
    } else {
        format!("<a href=\"{name}.html\">its own page</a>, <a href=\"{name}.csv\">figures</a>")
    };
    let mut text = format!(
        "<h2 id=\"{name}\">{name}</h2>\n<p>{} {link}</p>\n<p class=\"verdict {class}\"><strong>{}</strong> {}</p>\n",
        escape(&record.about),
        escape(&word(record)),
        escape(&record.sentence)
    );
    for picture in &record.pictures {
        let (file, title) = (escape(&picture.file), escape(&picture.title));
        let _ = writeln!(text, "<img src=\"{file}\" alt=\"{title}\" class=\"plot\" loading=\"lazy\">");
    }
    if record.table.len() > 1 {
        text += "<details><summary>Figures</summary><div class=\"wide\"><table>\n";
        for (i, line) in record.table.iter().enumerate() {
            let tag = if i == 0 { "th" } else { "td" };
            let cells: String = line.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect();
            let _ = writeln!(text, "<tr>{cells}</tr>");
        }
        text += "</table></div></details>\n";
    }
    text
}

fn word(record: &Record) -> String {
    let word = match record.outcome {
        Outcome::Met => "the bar is met",
        Outcome::NotMet => "the bar is not met",
        Outcome::Failed => "did not run to its end",
    };
    match &record.not_judged {
        Some(what) => format!("{word}; not judged: {what}"),
        None => word.to_owned(),
    }
}

fn form(record: &Record) -> String {
    let mut words = vec![if record.options.quick { "quick".to_owned() } else { "full".to_owned() }];
    words.extend(record.options.minutes.map(|minutes| format!("{minutes} minutes")));
    words.extend(record.options.repeat.map(|repeat| format!("{repeat} repeats")));
    words.join(", ")
}

/// Seconds as minutes and seconds.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    if whole < 60 { format!("{seconds:.1} s") } else { format!("{} min {} s", whole / 60, whole % 60) }
}
