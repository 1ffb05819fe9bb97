//! A report as one HTML file that needs nothing beside it.

use std::fmt::Write;

use crate::escape::escape;
use crate::report::{Report, cell};

pub(crate) const STYLE: &str = ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
    padding:0 1rem;background:#fff;color:#222}table{border-collapse:collapse;font-size:.9rem}\
    .wide{overflow-x:auto}th,td{border-bottom:1px solid #8884;padding:.25rem .6rem;text-align:right;white-space:nowrap}\
    th:first-child,td:first-child{text-align:left}.plot{max-width:100%;height:auto;margin:1rem 0}\
    .verdict{border-left:.4rem solid;padding:.5rem 1rem}.met{border-color:#009e73}.unmet{border-color:#d55e00}\
    @media(prefers-color-scheme:dark){body{background:#16181d;color:#ddd}}";

/// The page.
pub(crate) fn html(report: &Report) -> String {
    let name = escape(report.experiment);
    let (class, word) =
        if report.summary.passed { ("met", "The bar is met.") } else { ("unmet", "The bar is not met.") };
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>{name}</title>\n\
         <style>{STYLE}</style>\n<h1>{name}</h1>\n<p class=\"verdict {class}\"><strong>{word}</strong> {}</p>\n",
        escape(&report.summary.sentence)
    );
    for plot in &report.plots {
        text += &plot.to_svg();
    }
    text += "<h2>Measured</h2>\n<div class=\"wide\"><table>\n<tr>";
    for name in report.columns() {
        let _ = write!(text, "<th>{}</th>", escape(name));
    }
    text += "</tr>\n";
    for row in &report.rows {
        text += "<tr>";
        for name in report.columns() {
            let _ = write!(text, "<td>{}</td>", escape(&row.get(name).map(cell).unwrap_or_default()));
        }
        text += "</tr>\n";
    }
    text += "</table></div>\n<h2>Parameters</h2>\n<table>\n";
    for (name, value) in report.parameters.iter() {
        let _ = writeln!(text, "<tr><td>{}</td><td>{}</td></tr>", escape(name), escape(&cell(value)));
    }
    text + "</table>\n</html>\n"
}
