//! A deserializer around another that keeps account of memory and depth.

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor};
use std::cell::Cell;
use std::fmt;

/// Serde reserves at most this many bytes for a list before it has seen its entries.
const RESERVED_MAX: usize = 1 << 20;

/// No type that lists are made of is wider. A list is told to reserve no more entries than would fit if they were all so
/// wide, because it asks before the type of its entries is known.
const ENTRY_BYTES_MAX: usize = 512;

/// What is left of the memory and the depth that a value may take.
pub(super) struct Ledger {
    left: Cell<usize>,
    depth: Cell<u32>,
}

impl Ledger {
    pub(super) fn new(bytes: usize, depth: u32) -> Ledger {
        Ledger { left: Cell::new(bytes), depth: Cell::new(depth) }
    }

    fn charge<E: Error>(&self, bytes: usize) -> Result<(), E> {
        let left = self.left.get().checked_sub(bytes).ok_or_else(|| E::custom("takes too much memory"))?;
        self.left.set(left);
        Ok(())
    }

    fn give_back(&self, bytes: usize) {
        self.left.set(self.left.get() + bytes);
    }

    /// A list or a map begins, and ends when the guard does.
    fn descend<E: Error>(&self) -> Result<Level<'_>, E> {
        let depth = self.depth.get().checked_sub(1).ok_or_else(|| E::custom("is nested too deep"))?;
        self.depth.set(depth);
        Ok(Level(self))
    }
}

struct Level<'l>(&'l Ledger);

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.depth.set(self.0.depth.get() + 1);
    }
}

/// See the description of this file. Also stands around what a visitor is given to read on with.
pub(super) struct Metered<'l, D> {
    inner: D,
    ledger: &'l Ledger,
}

impl<'l, D> Metered<'l, D> {
    pub(super) fn new(inner: D, ledger: &'l Ledger) -> Metered<'l, D> {
        Metered { inner, ledger }
    }

    fn watch<V>(&self, visitor: V, is_list: bool) -> Watched<'l, V> {
        Watched { visitor, ledger: self.ledger, is_list }
    }
}

macro_rules! forward {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            let watched = self.watch(visitor, true);
            self.inner.$method(watched)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Metered<'_, D> {
    type Error = D::Error;

    forward! {
        deserialize_any deserialize_bool deserialize_char deserialize_ignored_any deserialize_identifier
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
        deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf
        deserialize_option deserialize_unit deserialize_seq deserialize_map
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        let watched = self.watch(visitor, false);
        self.inner.deserialize_unit_struct(name, watched)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        let watched = self.watch(visitor, false);
        self.inner.deserialize_newtype_struct(name, watched)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, D::Error> {
        let watched = self.watch(visitor, false);
        self.inner.deserialize_tuple(len, watched)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let watched = self.watch(visitor, false);
        self.inner.deserialize_tuple_struct(name, len, watched)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let watched = self.watch(visitor, false);
        self.inner.deserialize_struct(name, fields, watched)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let watched = self.watch(visitor, false);
        self.inner.deserialize_enum(name, variants, watched)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// A visitor whose lists are counted. The fields of a tuple or a struct are not: they lie where the whole lies.
struct Watched<'l, V> {
    visitor: V,
    ledger: &'l Ledger,
    is_list: bool,
}

macro_rules! visit {
    ($($method:ident: $type:ty),*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.visitor.$method(value)
        }
    )*};
}

macro_rules! visit_bytes {
    ($($method:ident: $type:ty),*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.ledger.charge(value.len())?;
            self.visitor.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Watched<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    visit! {
        visit_bool: bool, visit_char: char,
        visit_i8: i8, visit_i16: i16, visit_i32: i32, visit_i64: i64, visit_i128: i128,
        visit_u8: u8, visit_u16: u16, visit_u32: u32, visit_u64: u64, visit_u128: u128, visit_f32: f32, visit_f64: f64
    }

    visit_bytes! {
        visit_str: &str, visit_borrowed_str: &'de str, visit_string: String,
        visit_bytes: &[u8], visit_borrowed_bytes: &'de [u8], visit_byte_buf: Vec<u8>
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(Metered::new(inner, self.ledger))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(Metered::new(inner, self.ledger))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        if !self.is_list {
            return self.visitor.visit_seq(Fields { inner, ledger: self.ledger });
        }
        let entries = Entries::begin(inner.size_hint(), self.ledger)?;
        let _level = self.ledger.descend()?;
        self.visitor.visit_seq(List { inner, entries })
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let entries = Entries::begin(inner.size_hint(), self.ledger)?;
        let _level = self.ledger.descend()?;
        self.visitor.visit_map(List { inner, entries })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(Metered::new(inner, self.ledger))
    }
}

/// A seed that reads on under the same account.
struct Seed<'l, S>(S, &'l Ledger);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Seed<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Metered::new(inner, self.1))
    }
}

/// The fields of a tuple or a struct.
struct Fields<'l, A> {
    inner: A,
    ledger: &'l Ledger,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Fields<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_element_seed(Seed(seed, self.ledger))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// The account of one list or map.
struct Entries<'l> {
    ledger: &'l Ledger,
    count: usize,
    /// How many it was told to reserve.
    reserved: usize,
    is_charged: bool,
    /// Bytes that are charged for its former room while it grows, and are free again when it is whole.
    moving: usize,
}

impl Drop for Entries<'_> {
    fn drop(&mut self) {
        self.ledger.give_back(self.moving);
    }
}

impl<'l> Entries<'l> {
    /// A list without a length is one that claims more entries than there are bytes left.
    fn begin<E: Error>(count: Option<usize>, ledger: &'l Ledger) -> Result<Entries<'l>, E> {
        let count = count.ok_or_else(|| E::custom("is longer than what is left"))?;
        let reserved = count.min(ledger.left.get() / ENTRY_BYTES_MAX);
        Ok(Entries { ledger, count, reserved, is_charged: false, moving: 0 })
    }

    /// Charges the whole list as soon as the width of an entry is known, before the first is read. A list that was
    /// reserved too short doubles until all fit, and holds old and new room while it moves.
    fn charge<E: Error>(&mut self, width: usize) -> Result<(), E> {
        if std::mem::replace(&mut self.is_charged, true) {
            return Ok(());
        }
        let width = width.max(1);
        let mut room = self.reserved.min(RESERVED_MAX / width).max(4.min(self.count));
        let grows = room < self.count;
        while room < self.count {
            room = room.saturating_mul(2);
        }
        let bytes = room.saturating_mul(width);
        let moving = if grows { bytes / 2 } else { 0 };
        self.ledger.charge(bytes.saturating_add(moving))?;
        self.moving = moving;
        Ok(())
    }
}

/// The entries of a list or a map.
struct List<'l, A> {
    inner: A,
    entries: Entries<'l>,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for List<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.entries.charge(size_of::<S::Value>())?;
        self.inner.next_element_seed(Seed(seed, self.entries.ledger))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.reserved)
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for List<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_key_seed(Seed(seed, self.entries.ledger))
    }

    /// The nodes of a map are at least half full, so an entry has the room of two, for its key too.
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.entries.ledger.charge(2 * (size_of::<S::Value>() + size_of::<u64>()))?;
        self.inner.next_value_seed(Seed(seed, self.entries.ledger))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.reserved)
    }
}

impl<'l, 'de, A: EnumAccess<'de>> EnumAccess<'de> for Metered<'l, A> {
    type Error = A::Error;
    type Variant = Metered<'l, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let (value, variant) = self.inner.variant_seed(seed)?;
        Ok((value, Metered::new(variant, self.ledger)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Metered<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.newtype_variant_seed(Seed(seed, self.ledger))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.inner.tuple_variant(len, Watched { visitor, ledger: self.ledger, is_list: false })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.inner.struct_variant(fields, Watched { visitor, ledger: self.ledger, is_list: false })
    }
}
