//! A uniform grid over bodies: who is near whom, and how fast it is around here.

use nimbus_model::{Aabb, Vec3};

/// Edge of a cell, metres. What is within this distance of a body lies in its own cell or in one beside it.
pub(crate) const CELL_M: f32 = 2.0;

/// A cell that has something in it.
#[derive(Clone, Copy, Debug)]
struct Cell {
    key: u64,
    start: u32,
    end: u32,
    /// Greatest speed in the cell, and in it and all cells beside it once asked for.
    speed: f32,
    speed_around: Option<f32>,
}

/// Cells that differ along z only: neighbours in the list of cells.
#[derive(Clone, Copy, Debug)]
struct Column {
    key: u64,
    start: u32,
    end: u32,
}

/// Points in cells. Rebuilt every tick; the buffers stay.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    /// Rows in order of their cells, with the cell's key.
    entries: Vec<(u64, u32)>,
    cells: Vec<Cell>,
    columns: Vec<Column>,
    /// Open addressing from a column's key to its place plus one.
    table: Vec<u32>,
    mask: usize,
    /// By row: its cell.
    cell_of: Vec<u32>,
    /// The outermost cells.
    low: [i64; 3],
    high: [i64; 3],
}

impl Grid {
    /// Sorts rows into cells. A row is known by its place in the iteration.
    pub(crate) fn build(&mut self, rows: impl Iterator<Item = (Vec3, f32)> + Clone) {
        self.entries.clear();
        self.entries.extend(rows.clone().enumerate().map(|(i, (position, _))| (key(cell(position)), i as u32)));
        self.entries.sort_unstable();
        self.find_cells();
        self.cell_of.clear();
        self.cell_of.resize(self.entries.len(), 0);
        for (i, cell) in self.cells.iter().enumerate() {
            for (_, row) in &self.entries[cell.start as usize..cell.end as usize] {
                self.cell_of[*row as usize] = i as u32;
            }
        }
        for (i, (_, speed)) in rows.enumerate() {
            let cell = &mut self.cells[self.cell_of[i] as usize];
            cell.speed = cell.speed.max(speed);
        }
    }

    /// Takes some of another grid's rows. Who is near can be asked of such a part, how fast it is there cannot.
    pub(crate) fn take(&mut self, whole: &Grid, mut chosen: impl FnMut(u32) -> bool) {
        self.entries.clear();
        self.entries.extend(whole.entries.iter().filter(|(_, row)| chosen(*row)));
        self.find_cells();
    }

    /// True when nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn find_cells(&mut self) {
        self.cells.clear();
        self.columns.clear();
        (self.low, self.high) = ([i64::MAX; 3], [i64::MIN; 3]);
        for (at, &(key, _)) in self.entries.iter().enumerate() {
            let at = at as u32;
            if let Some(last) = self.cells.last_mut().filter(|last| last.key == key) {
                last.end = at + 1;
                continue;
            }
            let index = self.cells.len() as u32;
            self.cells.push(Cell { key, start: at, end: at + 1, speed: 0.0, speed_around: None });
            match self.columns.last_mut() {
                Some(last) if last.key == key >> BITS => last.end = index + 1,
                _ => self.columns.push(Column { key: key >> BITS, start: index, end: index + 1 }),
            }
            for (i, at) in coordinates(key).into_iter().enumerate() {
                self.low[i] = self.low[i].min(at);
                self.high[i] = self.high[i].max(at);
            }
        }
        let size = (self.columns.len() * 2).next_power_of_two().max(16);
        self.mask = size - 1;
        self.table.clear();
        self.table.resize(size, 0);
        for (i, column) in self.columns.iter().enumerate() {
            let mut at = spread(column.key) & self.mask;
            while self.table[at] != 0 {
                at = (at + 1) & self.mask;
            }
            self.table[at] = i as u32 + 1;
        }
    }

    /// Greatest speed of any row within [`CELL_M`] of a row, itself included, and of some a little further.
    pub(crate) fn speed_around(&mut self, row: u32) -> f32 {
        let index = self.cell_of[row as usize] as usize;
        if let Some(known) = self.cells[index].speed_around {
            return known;
        }
        let at = coordinates(self.cells[index].key);
        let mut greatest: f32 = 0.0;
        self.for_each_cell(at.map(|x| x - 1), at.map(|x| x + 1), |cell| greatest = greatest.max(cell.speed));
        self.cells[index].speed_around = Some(greatest);
        greatest
    }

    /// Greatest speed that rows within `range` of a point give to something there, at least its own, `least`; `of` tells
    /// where a row is and what it gives: `most` times its own speed and `most - 1` times `least` at the most.
    pub(crate) fn speed_within(
        &self,
        point: Vec3,
        range: f32,
        least: f32,
        most: f32,
        of: impl Fn(u32) -> (Vec3, f32),
    ) -> f32 {
        let mut greatest = least;
        let bounds = Aabb::around(point, Vec3::splat(range));
        self.for_each_cell(cell(bounds.min), cell(bounds.max), |cell| {
            if most * cell.speed + (most - 1.0) * least <= greatest {
                return;
            }
            for &(_, row) in &self.entries[cell.start as usize..cell.end as usize] {
                let (position, speed) = of(row);
                if speed > greatest && position.distance_squared(point) <= range * range {
                    greatest = speed;
                }
            }
        });
        greatest
    }

    /// Calls `each` for every row whose point may lie in the box.
    pub(crate) fn for_each_in(&self, bounds: &Aabb, mut each: impl FnMut(u32)) {
        self.for_each_cell(cell(bounds.min), cell(bounds.max), |cell| {
            self.entries[cell.start as usize..cell.end as usize].iter().for_each(|(_, row)| each(*row));
        });
    }

    /// Calls `each` for every cell between two cells.
    fn for_each_cell(&self, low: [i64; 3], high: [i64; 3], mut each: impl FnMut(&Cell)) {
        let low: [i64; 3] = std::array::from_fn(|i| low[i].max(self.low[i]));
        let high: [i64; 3] = std::array::from_fn(|i| high[i].min(self.high[i]));
        if (0..3).any(|i| low[i] > high[i]) {
            return;
        }
        let mut visit = |column: &Column| {
            let cells = &self.cells[column.start as usize..column.end as usize];
            let [x, y, _] = coordinates(column.key << BITS);
            let (first, last) = (key([x, y, low[2]]), key([x, y, high[2]]));
            let from = cells.partition_point(|cell| cell.key < first);
            cells[from..].iter().take_while(|cell| cell.key <= last).for_each(&mut each);
        };
        let wide = (high[0] - low[0] + 1) as u64 * (high[1] - low[1] + 1) as u64;
        if wide > self.columns.len() as u64 {
            let within = |column: &&Column| {
                let at = coordinates(column.key << BITS);
                (0..2).all(|i| (low[i]..=high[i]).contains(&at[i]))
            };
            self.columns.iter().filter(within).for_each(visit);
            return;
        }
        for x in low[0]..=high[0] {
            for y in low[1]..=high[1] {
                if let Some(column) = self.find(key([x, y, 0]) >> BITS) {
                    visit(column);
                }
            }
        }
    }

    fn find(&self, key: u64) -> Option<&Column> {
        let mut at = spread(key) & self.mask;
        loop {
            let column = self.columns.get((self.table[at] as usize).checked_sub(1)?)?;
            if column.key == key {
                return Some(column);
            }
            at = (at + 1) & self.mask;
        }
    }
}

/// Bits of a key for each axis.
const BITS: u32 = 21;
const HALF: i64 = 1 << (BITS - 1);

fn cell(position: Vec3) -> [i64; 3] {
    position.to_array().map(|x| ((x / CELL_M).floor() as i64).clamp(1 - HALF, HALF - 2))
}

fn key([x, y, z]: [i64; 3]) -> u64 {
    (((x + HALF) as u64) << (2 * BITS)) | (((y + HALF) as u64) << BITS) | (z + HALF) as u64
}

fn coordinates(key: u64) -> [i64; 3] {
    let part = |shift: u32| ((key >> shift) & ((1 << BITS) - 1)) as i64 - HALF;
    [part(2 * BITS), part(BITS), part(0)]
}

fn spread(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Rng;

    fn cloud(count: usize) -> Vec<(Vec3, f32)> {
        let mut rng = Rng::new(3);
        let mut point = || rng.point(Vec3::splat(-20.0), Vec3::splat(20.0));
        (0..count).map(|i| (point(), i as f32)).collect()
    }

    #[test]
    fn finds_everything_in_a_box() {
        let rows = cloud(500);
        let mut grid = Grid::default();
        grid.build(rows.iter().copied());
        for (small, half) in [(true, 3.0), (false, 15.0)] {
            let bounds = Aabb::around(Vec3::new(1.0, -2.0, 3.0), Vec3::splat(half));
            let mut found = Vec::new();
            grid.for_each_in(&bounds, |row| found.push(row as usize));
            found.sort_unstable();
            let inside = (0..rows.len()).filter(|i| bounds.holds(rows[*i].0));
            assert!(inside.clone().count() > 0 && inside.clone().all(|i| found.binary_search(&i).is_ok()));
            assert!(!small || found.len() < rows.len() / 4, "a small box finds {} rows", found.len());
        }
    }

    #[test]
    fn knows_the_greatest_speed_nearby() {
        let rows = cloud(500);
        let mut grid = Grid::default();
        grid.build(rows.iter().copied());
        for (i, (position, _)) in rows.iter().enumerate() {
            let near = rows.iter().filter(|(p, _)| p.distance(*position) <= CELL_M).map(|(_, speed)| *speed);
            let around = grid.speed_around(i as u32);
            assert!(around >= near.fold(0.0, f32::max));
            let far = rows.iter().filter(|(p, _)| p.distance(*position) <= 2.0 * CELL_M * 1.7321);
            assert!(around <= far.map(|(_, speed)| *speed).fold(0.0, f32::max));
        }
    }

    #[test]
    fn a_part_has_only_what_was_chosen() {
        let rows = cloud(200);
        let (mut grid, mut part) = (Grid::default(), Grid::default());
        grid.build(rows.iter().copied());
        part.take(&grid, |row| row % 3 == 0);
        let mut found = Vec::new();
        part.for_each_in(&Aabb::around(Vec3::ZERO, Vec3::splat(30.0)), |row| found.push(row));
        found.sort_unstable();
        assert_eq!(found, (0..200).step_by(3).collect::<Vec<u32>>());
    }

    #[test]
    fn an_empty_grid_answers() {
        let mut grid = Grid::default();
        grid.build(std::iter::empty());
        grid.for_each_in(&Aabb::around(Vec3::ZERO, Vec3::ONE), |_| panic!("nothing is there"));
    }
}
