//! How a scene's ground is shared out between the servers.

use nimbus_model::{Aabb, Layout, RegionBox, RegionId, Vec3};

/// How far the outermost hand-drawn boxes reach; beyond every kill box.
const FAR: f32 = 8_000.0;

/// A layout together with the places a scene needs to know: where its seams are and where its regions lie.
pub(crate) struct Regions {
    /// What the world is given.
    pub(crate) layout: Layout,
    /// A point of every region, in its middle as far as a region that reaches to infinity has one.
    pub(crate) middles: Vec<Vec3>,
    /// Half the extent of all regions together along x and z, counting outer regions as wide as the others.
    pub(crate) half: Vec3,
}

impl Regions {
    /// Slabs along x.
    pub(crate) fn columns(servers: u16, width: f32) -> Regions {
        let left = -width * f32::from(servers) / 2.0;
        Regions {
            layout: Layout::columns(servers, width),
            middles: (0..servers).map(|i| Vec3::X * (left + (f32::from(i) + 0.5) * width)).collect(),
            half: Vec3::new(-left, 0.0, width / 2.0),
        }
    }

    /// Blocks around the origin, so that as many regions as possible meet in corners: a grid where the count has
    /// factors, three regions in one corner for three, else two rows of columns that are offset like bricks.
    pub(crate) fn corners(servers: u16, size: f32) -> Regions {
        let deep =
            (1..=servers).take_while(|d| d * d <= servers).filter(|d| servers.is_multiple_of(*d)).last().unwrap_or(1);
        match (servers, deep) {
            (1 | 2, _) => Regions { half: Vec3::new(size, 0.0, size), ..Regions::columns(servers, size) },
            (3, _) => Regions {
                layout: Layout::Corner3,
                middles: [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)]
                    .map(|(x, z)| Vec3::new(x * size / 2.0, 0.0, z * size / 2.0))
                    .to_vec(),
                half: Vec3::new(size, 0.0, size),
            },
            (_, 1) => Regions::bricks(servers, size),
            _ => Regions::grid(servers / deep, deep, size),
        }
    }

    fn grid(wide: u16, deep: u16, size: f32) -> Regions {
        let low = Vec3::new(f32::from(wide), 0.0, f32::from(deep)) * size / -2.0;
        let middle = |x: u16, z: u16| low + Vec3::new(f32::from(x) + 0.5, 0.0, f32::from(z) + 0.5) * size;
        Regions {
            layout: Layout::Grid { count: [wide, 1, deep], size: [size, size, size] },
            middles: (0..deep).flat_map(|z| (0..wide).map(move |x| middle(x, z))).collect(),
            half: -low,
        }
    }

    /// Two rows whose counts differ by one: one of them has a seam at x = 0, so three regions meet at the origin.
    fn bricks(servers: u16, size: f32) -> Regions {
        let front = servers / 2;
        let mut boxes = Vec::new();
        let mut middles = Vec::new();
        for (row, first, count) in [(0, 0, front), (1, front, servers - front)] {
            let left = -size * f32::from(count) / 2.0;
            for i in 0..count {
                let low = left + f32::from(i) * size;
                let x = [if i == 0 { -FAR } else { low }, if i + 1 == count { FAR } else { low + size }];
                let z = if row == 0 { [-FAR, 0.0] } else { [0.0, FAR] };
                let bounds = Aabb::new(Vec3::new(x[0], -FAR, z[0]), Vec3::new(x[1], FAR, z[1]));
                boxes.push(RegionBox { region: RegionId(first + i), bounds });
                middles.push(Vec3::new(low + size / 2.0, 0.0, if row == 0 { -size / 2.0 } else { size / 2.0 }));
            }
        }
        Regions {
            layout: Layout::Boxes { boxes, default: RegionId(0) },
            middles,
            half: Vec3::new(size * f32::from(servers - front) / 2.0, 0.0, size),
        }
    }

    /// Where along x columns of this width meet. One server has no seam; its scenes are built around x = 0 as if it
    /// had one, so that they show the same thing.
    pub(crate) fn seams(servers: u16, width: f32) -> Vec<f32> {
        let left = -width * f32::from(servers) / 2.0;
        if servers < 2 { vec![0.0] } else { (1..servers).map(|i| left + f32::from(i) * width).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_gives_exactly_that_many_regions() {
        for servers in 1..=crate::SERVERS_MAX {
            for layout in [Regions::columns(servers, 10.0).layout, Regions::corners(servers, 10.0).layout] {
                assert_eq!(region_count(&layout), servers, "{layout:?}");
            }
        }
    }

    #[test]
    fn four_make_a_square_and_five_meet_in_threes() {
        assert_eq!(Regions::corners(4, 9.0).layout, Layout::Grid { count: [2, 1, 2], size: [9.0; 3] });
        let five = Regions::corners(5, 10.0);
        let Layout::Boxes { boxes, .. } = &five.layout else { panic!("{:?}", five.layout) };
        let near = |x: f32, z: f32| boxes.iter().find(|b| b.bounds.holds(Vec3::new(x, 0.0, z))).map(|b| b.region.0);
        assert_eq!([near(-0.1, -0.1), near(0.1, -0.1)], [Some(0), Some(1)]);
        assert_eq!([near(-0.1, 0.1), near(0.1, 0.1)], [Some(3), Some(3)]);
        for (i, middle) in five.middles.iter().enumerate() {
            assert_eq!(near(middle.x, middle.z), Some(i as u16), "the middle of a region lies in it");
        }
    }

    #[test]
    fn seams_lie_between_columns() {
        assert_eq!(Regions::seams(1, 10.0), [0.0]);
        assert_eq!(Regions::seams(2, 10.0), [0.0]);
        assert_eq!(Regions::seams(4, 10.0), [-10.0, 0.0, 10.0]);
    }

    fn region_count(layout: &Layout) -> u16 {
        match layout {
            Layout::Columns { count, .. } => *count,
            Layout::Grid { count, .. } => count.iter().product(),
            Layout::Corner3 => 3,
            Layout::Boxes { boxes, default } => {
                let named: std::collections::BTreeSet<u16> =
                    boxes.iter().map(|b| b.region.0).chain([default.0]).collect();
                named.len() as u16
            }
        }
    }
}
