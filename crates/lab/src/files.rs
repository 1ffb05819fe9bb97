//! A report as a handful of files in a directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::page;
use crate::report::Report;

impl Report {
    /// Writes the report into a directory, which is made if it does not exist: `NAME.csv`, `NAME.md`, `NAME.html`, and
    /// every plot as `NAME-PLOT.svg` and `NAME-PLOT.png`. Returns what was written.
    pub fn write_to(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        fs::create_dir_all(directory)?;
        let mut written = Vec::new();
        let mut write = |file: String, bytes: &[u8]| {
            let path = directory.join(file);
            fs::write(&path, bytes)?;
            written.push(path);
            io::Result::Ok(())
        };
        let name = self.experiment;
        write(format!("{name}.csv"), self.to_csv().as_bytes())?;
        for plot in &self.plots {
            write(format!("{}.svg", self.plot_file(plot)), plot.to_svg().as_bytes())?;
            write(format!("{}.png", self.plot_file(plot)), &plot.to_png())?;
        }
        let pictures: Vec<String> =
            self.plots.iter().map(|plot| format!("![{}]({}.svg)\n", plot.title, self.plot_file(plot))).collect();
        write(format!("{name}.md"), (self.to_markdown() + "\n" + &pictures.join("\n")).as_bytes())?;
        write(format!("{name}.html"), page::html(self).as_bytes())?;
        Ok(written)
    }

    fn plot_file(&self, plot: &crate::plot::Plot) -> String {
        format!("{}-{}", self.experiment, plot.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Plot, Series};
    use crate::report::{Row, Summary};

    #[test]
    fn every_file_of_a_report_is_written() {
        let plot =
            Plot::lines("speed", "Speed", "servers", "times").with(Series::new("ours", vec![[1.0, 1.0], [2.0, 2.0]]));
        let report = Report {
            experiment: "sample",
            parameters: Row::new().with("scene", "rain <1>"),
            rows: vec![Row::new().with("servers", 1).with("speedup", 1.0)],
            plots: vec![plot],
            summary: Summary { passed: false, sentence: "Slow & steady.".to_owned() },
        };
        let directory = std::env::temp_dir().join(format!("nimbus-lab-{}", std::process::id()));
        let written = report.write_to(&directory).unwrap();
        let names: Vec<_> = written.iter().map(|p| p.file_name().unwrap().to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["sample.csv", "sample-speed.svg", "sample-speed.png", "sample.md", "sample.html"]);
        let html = fs::read_to_string(directory.join("sample.html")).unwrap();
        for part in
            ["<svg ", "Slow &amp; steady.", "The bar is not met.", "<td>rain &lt;1&gt;</td>", "<th>speedup</th>"]
        {
            assert!(html.contains(part), "{part} is missing");
        }
        assert!(fs::read_to_string(directory.join("sample.md")).unwrap().contains("(sample-speed.svg)"));
        fs::remove_dir_all(&directory).unwrap();
    }
}
