//! From plots to pictures: a layout that knows no format, and two ways of putting it on a page.

mod axis;
mod bitmap;
mod chart;
mod font;
mod sheet;
mod vector;

use crate::plot::Plot;

/// The plot as SVG.
pub(crate) fn svg(plot: &Plot) -> String {
    vector::svg(&chart::lay_out(plot), &plot.title)
}

/// The plot as PNG.
pub(crate) fn png(plot: &Plot) -> Vec<u8> {
    bitmap::png(&chart::lay_out(plot))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Series;

    fn sample() -> Plot {
        Plot::lines("sample", "A & B", "servers", "times <1>")
            .with(Series::new("ours", vec![[1.0, 1.0], [2.0, 1.9], [4.0, 3.5]]))
            .with(Series::original(vec![[2.0, 1.74], [4.0, 3.4]]))
            .with_level("bar", 3.0)
    }

    #[test]
    fn a_vector_picture_has_every_point_and_escapes_its_words() {
        let svg = svg(&sample());
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("<circle").count(), 5);
        assert!(svg.contains("A &amp; B") && svg.contains("times &lt;1&gt;") && svg.contains(">original<"));
    }

    #[test]
    fn a_bitmap_shows_lines_and_letters() {
        let with = png(&sample());
        assert_eq!(with[..8], *b"\x89PNG\r\n\x1a\n");
        let mut silent = sample();
        silent.title.clear();
        let without = png(&silent);
        let ink = |bytes: &[u8]| {
            let map = tiny_skia::Pixmap::decode_png(bytes).unwrap();
            map.pixels().iter().filter(|p| p.red() < 128).count()
        };
        assert!(ink(&with) > ink(&without) + 50, "the title is drawn without any installed font");
    }

    #[test]
    fn odd_data_is_drawn_all_the_same() {
        let empty = Plot::lines("empty", "", "", "");
        let one = empty.clone().with(Series::new("one", vec![[3.0, 0.0]]));
        let wild = empty.clone().with(Series::new("wild", vec![[0.0, f64::NAN], [1.0, f64::INFINITY], [2.0, -4.0]]));
        let bars = Plot::bars("bars", "", "", "", vec!["a".into(), "b".into()])
            .with(Series::new("x", vec![[0.0, 2.0], [1.0, 3.0]]));
        for plot in [empty, one, wild, bars] {
            let svg = svg(&plot);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert!(png(&plot).len() > 100);
        }
    }
}
