//! What other raw files say besides their pixels: EXIF and GPS data, and some entries of the first directory.

use super::tree::{Directory, Tree, tag};
use super::write::DirectoryEntry;

/// Entries that are copied, in one byte order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    pub(crate) little: bool,
    /// For the first directory.
    pub(crate) first: Vec<DirectoryEntry>,
    pub(crate) exif: Vec<DirectoryEntry>,
    pub(crate) gps: Vec<DirectoryEntry>,
}

/// Entries of the first directory that hold for any copy: description, software, date, artist, XMP, rating, IPTC, copyright.
const FIRST: [u16; 9] = [270, 305, 306, 315, 700, 18246, 18249, 33432, 33723];

/// Entries that are not copied: notes of the maker, whose offsets do not move along, and the directory of interoperability.
const LEFT: [u16; 2] = [37500, 40965];

/// The most bytes of an entry.
const MOST: usize = 1 << 16;

impl Kept {
    /// What a camera's file says, wherever its kind of file has it.
    pub(crate) fn found(bytes: &[u8]) -> Self {
        let mut made = Self {
            little: true,
            ..Self::default()
        };
        if bytes.get(4..12) == Some(b"ftypcrx ") {
            made.of_boxes(bytes);
        } else if let Some(jpeg) = fuji(bytes) {
            if let Some(tree) = exif_of_jpeg(jpeg).and_then(Tree::any) {
                made.of_tree(&tree);
            }
        } else if let Some(tree) = Tree::any(bytes) {
            made.of_tree(&tree);
        }
        made
    }

    /// The directories of a TIFF file.
    fn of_tree(&mut self, tree: &Tree<'_>) {
        self.little = tree.little;
        let Some(first) = tree.at(4) else { return };
        self.first = entries(tree, &first, &|tag| FIRST.contains(&tag));
        for (which, to) in [(tag::EXIF, &mut self.exif), (tag::GPS, &mut self.gps)] {
            let place = first.entry(which).map(|e| e.place);
            if let Some(inner) = place.and_then(|place| tree.at(place)) {
                *to = entries(tree, &inner, &|tag| !LEFT.contains(&tag));
            }
        }
    }

    /// The boxes of CR3 files, each of which holds a TIFF file with one directory.
    fn of_boxes(&mut self, bytes: &[u8]) {
        let mut one = |name: &[u8], wanted: &dyn Fn(u16) -> bool| -> Option<Vec<DirectoryEntry>> {
            // They lie near the beginning, in the box of the movie.
            let head = &bytes[..bytes.len().min(1 << 17)];
            let at = head.windows(4).position(|w| w == name)?;
            let length = u32::from_be_bytes(head.get(at.checked_sub(4)?..at)?.try_into().ok()?);
            let end = (at - 4).checked_add(length as usize)?;
            let tree = Tree::any(bytes.get(at + 4..end)?)?;
            self.little = tree.little;
            Some(entries(&tree, &tree.at(4)?, wanted))
        };
        let first = one(b"CMT1", &|tag| FIRST.contains(&tag));
        let exif = one(b"CMT2", &|tag| !LEFT.contains(&tag));
        let gps = one(b"CMT4", &|_| true);
        self.first = first.unwrap_or_default();
        self.exif = exif.unwrap_or_default();
        self.gps = gps.unwrap_or_default();
    }
}

/// The JPEG file in a RAF file.
fn fuji(bytes: &[u8]) -> Option<&[u8]> {
    if !bytes.starts_with(b"FUJIFILMCCD-RAW") {
        return None;
    }
    let number = |at: usize| -> Option<usize> {
        let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_be_bytes(four) as usize)
    };
    let (place, length) = (number(84)?, number(88)?);
    bytes.get(place..place.checked_add(length)?)
}

/// The TIFF file in the EXIF segment of a JPEG file.
fn exif_of_jpeg(bytes: &[u8]) -> Option<&[u8]> {
    let mut at = 2;
    while let [0xff, kind, high, low] = *bytes.get(at..at + 4)? {
        let end = at + 2 + usize::from(u16::from_be_bytes([high, low]));
        let body = bytes.get(at + 4..end)?;
        match (kind, body.strip_prefix(b"Exif\0\0")) {
            (0xe1, Some(exif)) => return Some(exif),
            (0xda, _) => return None,
            _ => at = end,
        }
    }
    None
}

/// The entries of a directory, with their values.
fn entries(
    tree: &Tree<'_>,
    directory: &Directory,
    wanted: &dyn Fn(u16) -> bool,
) -> Vec<DirectoryEntry> {
    let known = |kind: u16| (1..=12).contains(&kind);
    let copied = directory.entries.iter().filter_map(|e| {
        let fits = known(e.kind) && e.count > 0 && e.length() <= MOST;
        let bytes = tree.bytes.get(e.place..e.place.checked_add(e.length())?)?;
        (fits && wanted(e.tag)).then(|| (e.tag, e.kind, e.count as u32, bytes.to_vec()))
    });
    copied.take(256).collect()
}
