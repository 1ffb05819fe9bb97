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

/// Points in cells. Rebuilt every tick; the buffers stay.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    /// Rows in order of their cells, with the cell's key.
    entries: Vec<(u64, u32)>,
    cells: Vec<Cell>,
    /// Open addressing from a key to its cell plus one.
    table: Vec<u32>,
    mask: usize,
    /// By row: its cell.
    cell_of: Vec<u32>,
}

impl Grid {
    /// Sorts rows into cells. A row is known by its place in the iteration.
    pub(crate) fn build(&mut self, rows: impl Iterator<Item = (Vec3, f32)> + Clone) {
        self.entries.clear();
        self.entries.extend(rows.clone().enumerate().map(|(i, (position, _))| (key(cell(position)), i as u32)));
        self.entries.sort_unstable();
        self.cells.clear();
        self.cell_of.clear();
        self.cell_of.resize(self.entries.len(), 0);
        for (at, &(key, row)) in self.entries.iter().enumerate() {
            match self.cells.last_mut() {
                Some(last) if last.key == key => last.end = at as u32 + 1,
                _ => {
                    self.cells.push(Cell { key, start: at as u32, end: at as u32 + 1, speed: 0.0, speed_around: None })
                }
            }
            self.cell_of[row as usize] = self.cells.len() as u32 - 1;
        }
        for (i, (_, speed)) in rows.enumerate() {
            let cell = &mut self.cells[self.cell_of[i] as usize];
            cell.speed = cell.speed.max(speed);
        }
        let size = (self.cells.len() * 2).next_power_of_two().max(16);
        self.mask = size - 1;
        self.table.clear();
        self.table.resize(size, 0);
        for (i, cell) in self.cells.iter().enumerate() {
            let mut at = spread(cell.key) & self.mask;
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
        let [x, y, z] = coordinates(self.cells[index].key);
        let mut greatest: f32 = 0.0;
        for x in x - 1..=x + 1 {
            for y in y - 1..=y + 1 {
                for z in z - 1..=z + 1 {
                    greatest = self.find(key([x, y, z])).map_or(greatest, |cell| greatest.max(cell.speed));
                }
            }
        }
        self.cells[index].speed_around = Some(greatest);
        greatest
    }

    /// Calls `each` for every row whose point may lie in the box.
    pub(crate) fn for_each_in(&self, bounds: &Aabb, mut each: impl FnMut(u32)) {
        let (low, high) = (cell(bounds.min), cell(bounds.max));
        let count = (0..3).map(|i| (high[i] - low[i] + 1).max(0) as u64).product::<u64>();
        if count > self.cells.len() as u64 {
            for cell in &self.cells {
                let at = coordinates(cell.key);
                if (0..3).all(|i| (low[i]..=high[i]).contains(&at[i])) {
                    self.entries[cell.start as usize..cell.end as usize].iter().for_each(|(_, row)| each(*row));
                }
            }
            return;
        }
        for x in low[0]..=high[0] {
            for y in low[1]..=high[1] {
                for z in low[2]..=high[2] {
                    if let Some(cell) = self.find(key([x, y, z])) {
                        self.entries[cell.start as usize..cell.end as usize].iter().for_each(|(_, row)| each(*row));
                    }
                }
            }
        }
    }

    fn find(&self, key: u64) -> Option<&Cell> {
        if self.cells.is_empty() {
            return None;
        }
        let mut at = spread(key) & self.mask;
        loop {
            let cell = self.cells.get((self.table[at] as usize).checked_sub(1)?)?;
            if cell.key == key {
                return Some(cell);
            }
            at = (at + 1) & self.mask;
        }
    }
}

const HALF: i64 = 1 << 20;

fn cell(position: Vec3) -> [i64; 3] {
    position.to_array().map(|x| ((x / CELL_M).floor() as i64).clamp(1 - HALF, HALF - 2))
}

fn key([x, y, z]: [i64; 3]) -> u64 {
    (((x + HALF) as u64) << 42) | (((y + HALF) as u64) << 21) | (z + HALF) as u64
}

fn coordinates(key: u64) -> [i64; 3] {
    let part = |shift: u32| ((key >> shift) & 0x1f_ffff) as i64 - HALF;
    [part(42), part(21), part(0)]
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
    fn an_empty_grid_answers() {
        let mut grid = Grid::default();
        grid.build(std::iter::empty());
        grid.for_each_in(&Aabb::around(Vec3::ZERO, Vec3::ONE), |_| panic!("nothing is there"));
    }
}
