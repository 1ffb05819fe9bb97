//! How many packets get lost, as far as acknowledgements tell.

/// One packet more or less changes the estimate by this share.
const LEARNS: f32 = 1.0 / 64.0;
/// Above this share packets are taken to get lost, below the other no more.
const FELT: f32 = 0.02;
const FORGOTTEN: f32 = 0.005;

/// An estimate of the share of packets that get lost. Acknowledgements that get lost look the same.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Loss {
    newest: Option<u32>,
    share: f32,
    is_felt: bool,
}

impl Loss {
    /// A packet was acknowledged that was not before; those between it and the last one were not, or not yet.
    pub(super) fn acknowledged(&mut self, sequence: u32) {
        let missing = match self.newest {
            Some(newest) if newest >= sequence => return,
            Some(newest) => (sequence - newest - 1).min(u32::from(u8::MAX)),
            None => 0,
        };
        self.newest = Some(sequence);
        for _ in 0..missing {
            self.share += LEARNS * (1.0 - self.share);
        }
        self.share -= LEARNS * self.share;
        self.is_felt = self.share > if self.is_felt { FORGOTTEN } else { FELT };
    }

    pub(super) fn is_felt(&self) -> bool {
        self.is_felt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_is_felt_and_forgotten() {
        let mut loss = Loss::default();
        (0..100).for_each(|sequence| loss.acknowledged(sequence));
        assert!(!loss.is_felt());
        (100..300).filter(|sequence| sequence % 10 != 0).for_each(|sequence| loss.acknowledged(sequence));
        assert!(loss.is_felt());
        let before = loss;
        loss.acknowledged(5);
        assert_eq!(loss, before, "an old one says nothing");
        (300..1_000).for_each(|sequence| loss.acknowledged(sequence));
        assert!(!loss.is_felt());
    }
}
