#!/usr/bin/env python3
"""Checks what a log of Annals shows of itself: copies of log.db, evidence packs, exports.

    python3 verify.py --key VKEY [--checkpoint FILE]... [--proof FILE]... [--files DIR] THING...

Written from log-format.md and verifying.md alone, as an example to read beside them, or to write your own from. It needs Python
3.8 or newer and its package `cryptography`, for the signatures. Exit: 0 sound, 1 not sound, 2 nothing can be said, for something
is missing or older than what was kept; of several things 1 before 2. annals-verify checks more (summary.html, README.txt, every
byte of an archive) and takes less memory; it does not look at tiles.
"""
import argparse, base64, hashlib, json, os, re, sqlite3, struct, sys, unicodedata, zipfile, zlib

class NotSound(Exception): pass
class Undecided(Exception): pass

def require(condition, finding):
    if not condition: raise NotSound(finding)

def sha256(data): return hashlib.sha256(data).digest()
def utf8(text): return text.encode('utf-8', 'surrogatepass')
def hashes(texts): return [unbase64(text, 32) for text in texts]

def unbase64(text, length):
    data = base64.b64decode(text, validate=True)
    require(base64.b64encode(data).decode() == text and len(data) == length, f'{text} is no base64 of {length} bytes')
    return data

def parse(text):
    """JSON in which no name stands twice: two programs could read two things in it."""
    def members(pairs):
        require(len(dict(pairs)) == len(pairs), 'a name stands twice in an object')
        return dict(pairs)
    return json.loads(text, object_pairs_hook=members)

def canonical(value): return json.dumps(value, sort_keys=True, separators=(',', ':'), ensure_ascii=False)


# The tree (RFC 6962, section 2.1)

def leaf_of(header): return sha256(b'\0' + utf8(header))
def node(left, right): return sha256(b'\1' + left + right)

class Tree:
    """The roots of its perfect subtrees, largest first, each with its height; the roots that it had; its tiles."""

    def __init__(self, size=0, before=(), wanted=()):
        heights = [height for height in range(size.bit_length(), -1, -1) if size >> height & 1]
        require(len(before) == len(heights), 'there are not as many subtrees as a tree of that size has')
        self.size, self.subtrees, self.wanted, self.tiles = size, list(zip(heights, before)), wanted, {}
        self.roots = {size: self.root()}

    def add(self, header):
        hash, height = leaf_of(header), 0
        self.tiles.setdefault(0, []).append(hash)
        while self.subtrees and self.subtrees[-1][0] == height:
            hash, height = node(self.subtrees.pop()[1], hash), height + 1
            if height % 8 == 0: self.tiles.setdefault(height // 8, []).append(hash)
        self.subtrees.append((height, hash))
        self.size += 1
        if self.size in self.wanted: self.roots[self.size] = self.root()

    def root(self):
        if not self.subtrees: return sha256(b'')
        *others, (_, root) = self.subtrees
        for _, hash in reversed(others): root = node(hash, root)
        return root

def root_by_inclusion(index, size, hash, proof):
    """RFC 9162, section 2.1.3.2. None where the proof has not as many hashes as it must."""
    at, last = index, size - 1
    for other in proof:
        if last == 0: return None
        if at & 1 or at == last:
            hash = node(other, hash)
            while not at & 1 and at: at, last = at >> 1, last >> 1
        else: hash = node(hash, other)
        at, last = at >> 1, last >> 1
    return hash if last == 0 else None

def is_consistent(first, first_root, second, second_root, proof):
    """RFC 9162, section 2.1.4.2."""
    if first == second: return not proof and first_root == second_root
    if first == 0: return not proof and first_root == sha256(b'')
    if first > second or not proof: return False
    at, last = first - 1, second - 1
    while at & 1: at, last = at >> 1, last >> 1
    start, *rest = [first_root, *proof] if at == 0 else proof
    before = now = start
    for hash in rest:
        if last == 0: return False
        if at & 1 or at == last:
            before, now = node(hash, before), node(hash, now)
            while not at & 1 and at: at, last = at >> 1, last >> 1
        else: now = node(now, hash)
        at, last = at >> 1, last >> 1
    return last == 0 and (before, now) == (first_root, second_root)


# Checkpoints

def key_of(text):
    """The name, the key id and the public key of a verifier key. Its base64 may hold `+` too: split at the first two."""
    name, id, key = text.strip().split('+', 2)
    key = unbase64(key, 33)
    if key[0] != 1 or sha256(utf8(name) + b'\n' + key)[:4].hex() != id: raise Undecided(f'{text} is no verifier key')
    return name, bytes.fromhex(id), key[1:]

class Checkpoint:
    def __init__(self, note, what='the checkpoint'):
        signed, _, signatures = note.rpartition('\n\n')
        lines = signed.split('\n')
        if not re.fullmatch('(— [^ \n]+ [^ \n]+\n)+', signatures) or len(lines) < 3 or not re.fullmatch('0|[1-9][0-9]*', lines[1]):
            raise Undecided(f'{what} is no checkpoint')
        self.what, self.text, self.origin, self.size, self.root = what, signed + '\n', lines[0], int(lines[1]), unbase64(lines[2], 32)
        self.signatures = [line.split(' ')[1:] for line in signatures.split('\n')[:-1]]

    def verify(self, keys, handovers=()):
        """One of the keys at least has signed it, while it was the key of the log, and no signature of theirs is wrong."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        count = 0
        for name, signature in self.signatures:
            signature = base64.b64decode(signature, validate=True)
            for of, id, key in (key for key in keys if key[:2] == (name, signature[:4])):
                for one in handovers:
                    require((of, id, key) != one.old or self.size <= one.size, f'{self.what} is of a key that had handed over')
                    require((of, id, key) != one.new or self.size >= one.size, f'{self.what} is of a key that only took over')
                try: Ed25519PublicKey.from_public_bytes(key).verify(signature[4:], utf8(self.text))
                except InvalidSignature: raise NotSound(f'{self.what} has a wrong signature of the key') from None
                count += 1
        if keys and not count: raise Undecided(f'{self.what} is not signed by the key')

def handover_of(note):
    """A hand-over: a checkpoint that names two keys, and that both have signed."""
    one = Checkpoint(note, 'a hand-over')
    named = [line.split(' ')[1:] for line in one.text.split('\n') if line.startswith('handover ')]
    require(len(named) == 1 and len(named[0]) == 2 and named[0][0] != named[0][1], 'a hand-over does not name two keys')
    one.old, one.new = map(key_of, named[0])
    require(one.old[0] == one.new[0] == one.origin, 'a hand-over is of another log than its keys')
    for key in (one.old, one.new): one.verify([key])
    return one

def follow(keys, notes):
    """The keys to which hand-overs lead from these, in either direction, and the hand-overs that do."""
    keys, left, led = list(keys), [handover_of(note) for note in dict.fromkeys(notes)], []
    while step := next((one for one in left if one.old in keys or one.new in keys), None):
        left.remove(step)
        led.append(step)
        keys += [key for key in (step.old, step.new) if key not in keys]
    require(len({one.old for one in led}) == len({one.new for one in led}) == len(led), 'a key handed over twice')
    return keys, led

def verify_kept(kept, keys, handovers, log):
    """Kept checkpoints are no evidence: one that no key has signed, or of another log, decides nothing."""
    for one in kept:
        try: one.verify(keys)
        except NotSound as error: raise Undecided(str(error)) from None
        if one.origin != log: raise Undecided(f'{one.what} is of another log')
        one.verify(keys, handovers)  # one of a key beyond its term contradicts the hand-over

def check_kept(old_ones, size, root, roots, earlier, given):
    """The evidence extends each checkpoint, or a newer one extends it: by the events themselves, or by a proof. Gives what is
    not proven: a proof is not signed, so one that is missing or does not lead there contradicts nothing."""
    proofs = {one['size']: hashes(one['proof']) for one in earlier}
    roots, unproven, seen = {**roots, size: root}, [], {}
    for old in old_ones:
        if old.size in roots:
            require(roots[old.size] == old.root, f'it does not continue {old.what}: the log was rewritten, or is a fork')
            continue
        require(seen.setdefault(old.size, old.root) == old.root, f'{old.what} is of a fork: another one of its size has another root')
        ends = [(old.size, old.root), (size, root)] if old.size < size else [(size, root), (old.size, old.root)]
        (first, first_root), (second, second_root) = ends
        known = [[]] if first == 0 else [proofs[first]] if second == size and first in proofs else []
        known += [proof for sizes, proof in given if sizes == ((first, first_root), (second, second_root))]
        if not any(is_consistent(first, first_root, second, second_root, proof) for proof in known):
            unproven.append(f'no proof leads from {first} to {second} events, for {old.what}: ask for one, as --proof')
    return unproven

def answer_of(name):
    """An answer of GET /api/audit/consistency: from where to where, and the proof."""
    with open(name, encoding='utf-8') as file: answer = parse(file.read())
    try:
        ends = [(answer[end], unbase64(answer[end + 'Root'], 32)) for end in ('from', 'to')]
        return tuple(ends), hashes(answer['proof'])
    except NotSound as error: raise Undecided(f'{name} is no proof: {error}') from None


# Events

UUID = '[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'
TEXTS = {'correlationId': '.+', 'id': UUID, 'log': f'annals/{UUID}', 'payload': 'sha256:[0-9a-f]{64}', 'stream': '.+/.+',
         'recordedAt': r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z', 'type': r'[a-z.]+'}
NUMBERS = ('position', 'schemaVersion', 'v', 'version')

def header_of(text, log):
    header = parse(text)
    at = f'event {header.get("position")}'
    if header.get('v') not in (1, 2): raise Undecided(f'{at}: its header is of a version that is not known here')
    batch = {'batch': UUID} if header['v'] == 2 and 'batch' in header else {}
    require(set(header) == {'actor', *TEXTS, *NUMBERS, *batch}, f'{at}: its header has other members than it must have')
    for name, form in {**TEXTS, **batch}.items():
        require(re.fullmatch(form, header[name], re.S), f'{at}: its {name} is not as it must be')
    for name in NUMBERS: require(type(header[name]) is int and header[name] > 0, f'{at}: its {name} is not a number from 1')
    require(header['actor'].get('type') in ('user', 'apiKey', 'system', 'anonymous') and set(header['actor']) <= {'id', 'type'}
            and isinstance(header['actor'].get('id', ''), str), f'{at}: its actor is not as it must be')
    require(canonical(header) == text, f'{at}: its header is not canonical')
    require(header['log'] == log, f'{at}: it is of another log')
    return header

class Events:
    """Events that were shown and are in the log: what they say, what they declare gone, their times."""

    def __init__(self): self.times, self.missing, self.there, self.declared = {}, [], [], {}

    def add(self, header, body, erased, withheld=False):
        """Gives what the event says, None where that is not shown."""
        position, stream, version = header['position'], header['stream'], header['version']
        at = f'event {position}, {stream} version {version}, {header["type"]}'
        self.times[position] = (header['recordedAt'], stream == 'system/clock', at)
        if body is None:
            if not withheld: self.missing.append((at, header, erased))
            return None
        require(not erased and not withheld, f'{at}: its payload is there, and is said not to be')
        require(header['payload'] == 'sha256:' + sha256(b'annals-payload-v1\0' + utf8(body)).hex(),
                f'{at}: its payload is not the one that the header commits to')
        payload = parse(body)
        if header['type'] != 'document.erased': self.there.append((at, header))
        else:
            for one in payload['data']['streams']: self.declared.setdefault(one['stream'], []).append((position, one['versions']))
        return payload

    def check(self):
        """The checks that need all of the events."""
        last = ''
        for time, is_correction, at in [self.times[position] for position in sorted(self.times)]:
            require(time >= last or is_correction, f'{at}: time goes back')
            last = time
        def is_gone(header):
            declared = self.declared.get(header['stream'], ())
            return any(header['position'] < position and header['version'] <= versions for position, versions in declared)
        for at, header in self.there:
            require(not is_gone(header), f'{at}: its payload was erased, and is there')
        for at, header, erased in self.missing:
            require(erased and header['type'] != 'document.erased' and is_gone(header),
                    f'{at}: its payload is missing, and no erasure declares it')

drafts = {f'{about}.draft.{verb}' for about in ('document', 'global') for verb in ('created', 'updated', 'restored', 'discarded')}

def fold(document, header, payload):
    """The public document after one more event, in the names of its time (log-format.md, Evidence packs)."""
    kind, data = header['type'], payload['data'] if payload else None
    if data is None or not kind.startswith(('document.', 'global.')): return document
    if kind in drafts: return document
    if kind == 'document.created': return data
    if kind in ('document.deleted', 'document.unpublished'): return None
    if kind == 'document.erased': return None if any(one['stream'] == header['stream'] for one in data['streams']) else document
    if kind.endswith('.restored'): return data['document']
    if kind.endswith('.published') and 'document' in data: return data['document']
    if not kind.endswith(('.updated', '.published')): raise Undecided(f'what {kind} makes of a document is not known here')
    changed = {**(document or {}), **data['set']}
    return {name: value for name, value in changed.items() if name not in data.get('unset', [])}

def name_file(named, document, version, *stream):
    sha, name, size = [(document or {}).get(member) for member in ('sha256', 'filename', 'filesize')]
    if isinstance(sha, str) and re.fullmatch('[0-9a-f]{64}', sha) and isinstance(name, str) and type(size) is int:
        named.setdefault(sha, (size, version, *stream))

def fate_of(losses, stream, version):
    """The fate of a file by the newest event about it."""
    about = [header for header, payload in losses if (payload['data']['stream'], payload['data']['version']) == (stream, version)]
    if about and about[-1]['type'] == 'file.lost': return f'lost, as event {about[-1]["position"]} says'
    return 'left out, and nothing says that it is lost'

def check_file(sha, size, data):
    require(len(data) == size and sha256(data).hex() == sha, f'the file {sha} was altered')


# A copy of log.db, with the folder of its segments

def zstd(data):
    try: from compression import zstd as found  # Python 3.14
    except ImportError:
        try: import zstandard as found
        except ImportError: raise Undecided('the log has segments, which need Python 3.14 or its package zstandard')
    return found.decompress(data) if hasattr(found, 'decompress') else found.ZstdDecompressor().decompress(data)

class Segments:
    """The payloads that are in files; the last file and the last frame are kept."""

    def __init__(self, folder): self.folder, self.name, self.frame = folder, None, None

    def find(self, name, position):
        """The payload of a position; None for an erased one."""
        require(re.fullmatch('[0-9]{10,16}-[0-9]{10,16}-[0-9a-f]{16}[.]seg', name), f'a segment has the name {name}')
        if name != self.name:
            path, self.name, self.frame = os.path.join(self.folder, name), name, None
            if not os.path.exists(path): raise Undecided(f'the segment {name} is not there: copy the folder segments beside log.db')
            with open(path, 'rb') as file: self.data = file.read()
            require(self.data[:8] == b'AnnsSeg\1' and len(self.data) >= 28, f'the segment {name} was altered')
            first, last, count = struct.unpack_from('<QQI', self.data, 8)
            require(len(self.data) >= 28 + 12 * count, f'the segment {name} was altered')
            self.frames, start = [], 28 + 12 * count
            for at in range(count):
                payloads, length, raw = struct.unpack_from('<III', self.data, 28 + 12 * at)
                self.frames.append((first, payloads, start, length, raw))
                first, start = first + payloads, start + length
            require((first, start) == (last + 1, len(self.data)), f'the segment {name} was altered')
        for frame in self.frames:
            first, payloads, start, length, raw = frame
            if first <= position < first + payloads: break
        else: return None
        if frame != self.frame:
            try: content = zstd(self.data[start:start + length])
            except (Undecided, MemoryError): raise
            except Exception: raise NotSound(f'the segment {name} was altered: the frame of event {first} is no zstd frame')
            require(len(content) == raw >= 4 * payloads, f'the segment {name} was altered: the frame of event {first} has another length')
            self.lengths, at, self.bodies = struct.unpack_from(f'<{payloads}I', content), 4 * payloads, []
            for length in self.lengths:
                self.bodies.append(content[at:at + length].decode('utf-8', 'surrogatepass') or None)
                at += length
            require(at == raw, f'the segment {name} was altered: the frame of event {first} has other lengths')
            self.frame = frame
        return self.bodies[position - first]

def check_log(path, keys, kept, proofs, files):
    db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    db.text_factory = lambda data: data.decode('utf-8', 'surrogatepass')
    db.execute('BEGIN')  # one moment, whatever a service appends meanwhile
    mark = [db.execute(f'PRAGMA {name}').fetchone()[0] for name in ('application_id', 'user_version')]
    if mark[0] != 0x416e6e73 or mark[1] not in (2, 3, 4, 5): raise Undecided('it is no log of Annals of format 2, 3, 4 or 5')
    segments, archived = Segments(os.path.join(os.path.dirname(path), 'segments')), 'NULL'
    if mark[1] > 3: archived = ('CASE WHEN p.body IS NULL AND NOT EXISTS (SELECT 1 FROM removals r WHERE r.position = e.position) THEN'
                                ' (SELECT file FROM segments WHERE first <= e.position ORDER BY first DESC LIMIT 1) END')
    table = 'headers' if mark[1] > 4 else 'events'
    payloads = f'enc, CAST(p.body AS TEXT), {archived} FROM {table} e LEFT JOIN payloads p ON p.position = e.position'
    [(log, size, root, recorded_at)] = db.execute('SELECT log, size, root, recorded_at FROM head')
    about_keys = db.execute(f"SELECT e.position, {payloads} WHERE stream = 'system/keys' ORDER BY e.position")
    bodies = [segments.find(archived, position) if archived else body for position, _, body, archived in about_keys]
    keys, handovers = follow(keys, [data['handover'] for body in bodies if body and 'handover' in (data := parse(body)['data'])])
    verify_kept(kept, keys, handovers, log)
    handed = [one for one in handovers if one.size <= size]
    notes = [Checkpoint(note, f'the stored checkpoint of {of} events') for of, note in db.execute('SELECT size, note FROM checkpoints')]
    erasures = {position for position, in db.execute('SELECT position FROM erasures')}
    tree, events, versions, last = Tree(wanted={one.size for one in [*notes, *kept, *handed]}), Events(), {}, ''
    documents, named, losses = {}, {}, []
    for position, id, stream, version, text, enc, body, archived in db.execute(
            f'SELECT e.position, id, stream, version, header, {payloads} ORDER BY e.position'):
        require(position == tree.size + 1, f'event {tree.size + 1} is missing')
        header = header_of(text, log)
        require([header[name] for name in ('position', 'id', 'stream', 'version')] == [position, id, stream, version],
                f'event {position}: its header and its row differ')
        versions[stream] = versions.get(stream, 0) + 1
        require(version == versions[stream], f'event {position}: version {version} does not follow in {stream}')
        require((header['type'] == 'document.erased') == (position in erasures),
                f'event {position}: the table of erasures is not what the events make')
        if enc not in (None, 0): raise Undecided(f'event {position}: its payload is stored in a way that is not known here')
        if archived: body = segments.find(archived, position)
        payload, last = events.add(header, body, erased=body is None), header['recordedAt']
        tree.add(text)
        if files and header['type'].startswith('document.'):
            documents[stream] = fold(documents.get(stream), header, payload)
            name_file(named, documents[stream], version, stream)
        if stream == 'system/files': losses.append((header, payload))
    events.check()
    unproven, signed = [], 0
    for note in notes:
        require(note.origin == log, f'{note.what} is of another log')
        try: note.verify(keys, handovers)
        except Undecided as error:
            unproven.append(str(error))
            continue
        require(tree.roots.get(note.size) == note.root, f'the log is not that of {note.what}')
        signed = max(signed, note.size)
    require((tree.size, tree.root(), last) == (size, root, recorded_at), 'the head is not what the events make')
    tiles = {(level, start // 256): b''.join(all[start:start + 256]) for level, all in tree.tiles.items()
             for start in range(0, len(all), 256) if level > 0 or start + 256 <= len(all)}
    require(tiles == {(level, index): all for level, index, all in db.execute('SELECT level, idx, hashes FROM tiles')},
            'the tiles are not what the events make')
    unproven += check_kept([*kept, *handed], size, root, tree.roots, [], proofs)
    if keys and not notes and not kept: unproven.append('no checkpoint is in the log, and none was given: nothing of it is signed')
    open_points, signed = [], max([signed, *(one.size for one in kept)])
    if signed < size: open_points.append(f'from where the events {signed + 1} to {size} are: no checkpoint holds them')
    for sha, (length, version, stream) in named.items():
        if os.path.exists(os.path.join(files, sha[:2], sha)):
            with open(os.path.join(files, sha[:2], sha), 'rb') as file: check_file(sha, length, file.read())
        else:
            fate = fate_of(losses, stream, version)
            if not fate.startswith('lost'): unproven.append(f'the file {sha} is missing: {fate}')
            open_points.append(f'what is in the file {sha}: {fate}')
    return size, open_points, unproven


# Evidence packs and exports

class Archive:
    """The files of a ZIP, or of the folder that it was unpacked to."""

    def __init__(self, path):
        self.path, self.zip = path, None if os.path.isdir(path) else zipfile.ZipFile(path)
        self.names = self.zip.namelist() if self.zip else [
            os.path.relpath(os.path.join(folder, name), path).replace(os.sep, '/') for folder, _, names in os.walk(path) for name in names]
        if len(set(self.names)) < len(self.names): raise Undecided('a file stands twice in the archive')

    def check_names(self, known):
        for name in self.names:
            if name not in known: raise Undecided(f'{name} does not belong there')

    def open(self, name):
        require(name in self.names, f'{name} is missing')
        return self.zip.open(name) if self.zip else open(os.path.join(self.path, name), 'rb')

    def read(self, name):
        with self.open(name) as file: return file.read()

class Shown(Events):
    """Events that an archive shows, each with the proof that it is in the log of the checkpoint."""

    def __init__(self, thing, keys, kept):
        super().__init__()
        keys, handovers = follow(keys, thing.get('handovers', []))
        if keys and key_of(thing['verifierKey']) not in keys: raise Undecided('it names another key as its own')
        self.log, self.checkpoint = thing['origin'], Checkpoint(thing['checkpoint'])
        require(self.checkpoint.origin == self.log, 'the checkpoint is of another log')
        self.checkpoint.verify(keys, handovers)
        verify_kept(kept, keys, handovers, self.log)
        self.kept = [*kept, *(one for one in handovers if one.size <= self.checkpoint.size)]

    def add_proven(self, text, body, proof, erased=False, withheld=False):
        header, size = header_of(text, self.log), self.checkpoint.size
        found = root_by_inclusion(header['position'] - 1, size, leaf_of(text), hashes(proof))
        require(header['position'] <= size and found == self.checkpoint.root, f'event {header["position"]} is not in the log')
        return header, self.add(header, body, erased, withheld)

    def add_all(self, what, shown, fits):
        added = [self.add_proven(one['header'], one['payload'], one['proof'], one.get('erased'), one.get('withheld')) for one in shown]
        positions = [header['position'] for header, _ in added]
        require(positions == sorted(set(positions)) and all(fits(header) for header, _ in added), f'{what} are not those that belong there')
        return added

def check_bundle(archive, bundle, keys, kept, proofs):
    if bundle['format'] != 'annals-bundle/1' or bundle.get('texts', 1) != 1: raise Undecided('its format is not known here')
    shown, open_points, stream, streams = Shown(bundle, keys, kept), [], bundle['stream'], bundle['streams']
    checkpoint, kept = shown.checkpoint, shown.kept
    require('checkpoint.txt' not in archive.names or utf8(bundle['checkpoint']) == archive.read('checkpoint.txt'),
            'checkpoint.txt is not the checkpoint')
    events = shown.add_all('events', bundle['events'], lambda header: header['stream'] in streams)
    schemas = shown.add_all('schemas', bundle['schemas'], lambda header: header['stream'] == 'system/schema')
    clock = shown.add_all('corrections', bundle.get('corrections', []), lambda header: header['stream'] == 'system/clock')
    losses = shown.add_all('losses', bundle.get('losses', []), lambda header: header['stream'] == 'system/files')
    shown.add_all('erasures', bundle['erasures'], lambda header: header['type'] == 'document.erased')
    shown.check()
    require(streams[0] == stream and set(bundle['versions']) == set(streams), 'the streams are not those of the versions')
    runs = [([header['version'] for header, _ in events if header['stream'] == name], bundle['versions'][name]) for name in streams]
    for found, count in [*runs, *(([header['version'] for header, _ in one], len(one)) for one in (schemas, clock))]:
        require(found == list(range(1, count + 1)), f'the versions shown are {found}, not 1 to {count}')
    require(schemas and schemas[0][0]['position'] == 1, 'the schema with which the log begins is missing')

    document, named, withheld = {} if stream.startswith('globals/') else None, {}, any(one.get('withheld') for one in bundle['events'])
    for header, payload in events:
        if header['stream'] == stream:
            document = fold(document, header, payload)
            name_file(named, document, header['version'])
    require('document' in bundle or withheld or stream.startswith('accounts/'), 'the document is missing')
    require('document' not in bundle or canonical(document) == canonical(bundle['document']), 'the document is not what its events make')
    files = {one['sha256']: (one['bytes'], one['version']) for one in bundle['files']}
    require(files == named and len(files) == len(bundle['files']), 'the files are not those that the events name')
    for one in bundle['files']:
        name = 'files/' + one['sha256']
        require(one['included'] == (name in archive.names), f'{name} is there and should not be, or should be and is not')
        if one['included']: check_file(one['sha256'], one['bytes'], archive.read(name))
        else: open_points.append(f'what is in the file {one["sha256"]}: {fate_of(losses, stream, one["version"])}')
    archive.check_names({'bundle.json', 'checkpoint.txt', 'summary.html', 'README.txt', 'annals-verify.mjs', *('files/' + sha for sha in files)})

    tree, rest = None, bundle.get('rest')
    if rest:
        require(rest['after'] == min(max(header['position'] for header, _ in events if header['stream'] == name) for name in streams),
                'the rest does not begin behind the last event')
        tree, positions = Tree(rest['after'], hashes(rest['before']), {one.size for one in kept}), {header['position'] for header, _ in events}
        for text in rest['headers']:
            tree.add(text)
            header = header_of(text, shown.log)
            require(header['stream'] not in streams or header['position'] in positions, f'a version of {header["stream"]} is left out')
        require((tree.size, tree.root()) == (checkpoint.size, checkpoint.root), 'the rest is not that of the log')
    else: open_points.append('whether there was a later version')
    unproven = check_kept(kept, checkpoint.size, checkpoint.root, tree.roots if tree else {}, bundle['earlier'], proofs)
    return len(shown.times), open_points, unproven

def check_export(archive, manifest, keys, kept, proofs):
    if manifest['format'] != 'annals-export/1' or manifest.get('texts') != 1: raise Undecided('its format is not known here')
    shown, start, end, filters = Shown(manifest, keys, kept), manifest['from'], manifest['to'], manifest.get('filters')
    kept = shown.kept
    source, made = manifest.get('source', manifest), {'csv': csv_of, 'cloudevents': cloud_event_of}.get(manifest['kind'])
    require((made is None) == (source is manifest), 'the manifest does not say which file holds the exact texts')
    shown.add_all('erasures', manifest['erasures'], lambda header: header['type'] == 'document.erased')
    shown.times.clear()  # they may be from before or after the range, and the corrections are those of the range
    shown.add_all('corrections', manifest.get('corrections', []), lambda header: header['stream'] == 'system/clock')
    tree = None if filters else Tree(start - 1, hashes(manifest['before']), {one.size for one in kept})
    copy, count, last = archive.open(manifest['file']) if made else None, 0, start - 1
    if made is csv_of: require(copy.read(len(CSV_HEAD)) == CSV_HEAD, f'{manifest["file"]} has another head')
    for line in archive.open(source['file']):
        text, body, more = split(line.decode('utf-8', 'surrogatepass'))
        erased, withheld = more.get('erased'), more.get('withheld') or not manifest['withPayloads']
        if tree:
            header = header_of(text, shown.log)
            require(header['position'] == tree.size + 1, f'event {tree.size + 1} is missing')
            tree.add(text)
            payload = shown.add(header, body, erased, withheld)
        else:
            header, payload = shown.add_proven(text, body, more['proof'], erased, withheld)
            require(last < header['position'] and fits(header, filters), f'event {header["position"]} does not belong there')
        last, count = header['position'], count + 1
        again = made(header, body, payload, more) if made else b''
        require(not made or copy.read(len(again)) == again, f'{manifest["file"]}: event {last} is not what was recorded')
    require(not made or copy.read(1) == b'', f'{manifest["file"]} says more than the events')
    require(count == manifest['events'] and last <= end, f'there are not {manifest["events"]} events up to {end}')
    for one in [source, manifest]:
        data = archive.read(one['file'])
        require((one['sha256'], one['bytes']) == (sha256(data).hex(), len(data)), f'{one["file"]} is not the file of the manifest')
    size, root = shown.checkpoint.size, shown.checkpoint.root
    if tree: require(tree.size == end and is_consistent(end, tree.root(), size, root, hashes(manifest['consistency'])),
                     f'the events {start} to {end} are not those of the log')
    shown.check()
    unproven = check_kept(kept, size, root, tree.roots if tree else {}, manifest['earlier'], proofs)
    archive.check_names({manifest['file'], source['file'], 'manifest.json', 'README.txt', 'annals-verify.mjs'})
    return count, [] if tree else ['whether an event was left out that fits the filters'], unproven

def split(line):
    """The exact texts of a line, and what stands behind them."""
    require(line.startswith('{"header":') and line.endswith('}\n'), 'a line is no event')
    end = line.index('},"payload":') + 1
    begin = end + len(',"payload":')
    payload, behind = json.JSONDecoder().raw_decode(line, begin)
    return line[len('{"header":'):end], None if payload is None else line[begin:behind], parse('{"":0' + line[behind:])

def fits(header, filters):
    stream, actor, wanted = header['stream'], header['actor'], filters.get('collection', header['stream'])
    return ((stream == wanted or stream.startswith(wanted + '/')) and filters.get('stream', stream) == stream
            and filters.get('type', header['type']) == header['type']
            and filters.get('actor', actor['type']) in (actor['type'], actor.get('id')))


# The texts of exports for readers (log-format.md, Texts for readers)

def begins_like_formula(text):
    if text[:1] in ('\t', '\r', '\n'): return True
    for char in text:
        if unicodedata.category(char)[0] not in 'CZM' and char not in '"\'`´‘’‚‛“”„‟«»‹›＂＇':
            return unicodedata.normalize('NFKC', char)[0] in '=+-@−'
    return False

def row(cells):
    def cell(text):
        def is_marked(at):
            return (at == 0 or text[at - 1] in ';\t\r\n') and begins_like_formula(text[at:]) or at == 0 and text[0] == "'"
        return '"' + ''.join("'" * is_marked(at) + char for at, char in enumerate(text)).replace('"', '""') + '"'
    return re.sub('[\ud800-\udfff]', '\ufffd', ','.join(map(cell, cells)) + '\r\n').encode()

CSV_HEAD = b'\xef\xbb\xbf' + row('position recordedAt stream version type actorType actorId correlationId reason changed data id'
                                 ' schemaVersion payload'.split())

def data_in(body):
    """The text of `data` in a payload, as it was recorded."""
    begin = body.index(',"data":') + len(',"data":')
    return body[begin:json.JSONDecoder().raw_decode(body, begin)[1]]

def csv_of(header, body, payload, more):
    data = payload['data'] if payload else {}
    changed = [name for name in [*data.get('set', {}), *data.get('unset', [])] if name not in ('createdAt', 'updatedAt')]
    return row(map(str, [
        *(header[name] for name in ('position', 'recordedAt', 'stream', 'version', 'type')), header['actor']['type'],
        header['actor'].get('id', ''), header['correlationId'], payload['context'].get('reason', '') if payload else '',
        ' '.join(changed), data_in(body).replace(';', '\\u003b') if payload else '', header['id'], header['schemaVersion'],
        header['payload']]))

def cloud_event_of(header, body, payload, more):
    attributes = {
        'specversion': '1.0', 'id': header['id'], 'source': header['log'], 'type': 'org.annals.' + header['type'],
        'subject': header['stream'], 'time': header['recordedAt'], 'datacontenttype': 'application/json',
        'sequence': f'{header["position"]:010}', 'sequencetype': 'Integer', 'version': header['version'],
        'schemaversion': header['schemaVersion'], 'actortype': header['actor']['type'], 'actorid': header['actor'].get('id'),
        'correlationid': header['correlationId'], 'payload': header['payload'],
        'reason': payload['context'].get('reason') if payload else None, 'erased': more.get('erased'), 'withheld': more.get('withheld')}
    text = json.dumps({name: value for name, value in attributes.items() if value is not None}, separators=(',', ':'), ensure_ascii=False)
    text = re.sub('[\ud800-\udfff]', lambda found: f'\\u{ord(found[0]):04x}', text)
    return ((f'{text[:-1]},"data":{data_in(body)}}}' if payload else text) + '\n').encode()


# The answer

def check_note(text, path, keys, kept, proofs):
    """A checkpoint as the evidence: it says nothing of itself, but compared with others."""
    if not keys or not kept: raise Undecided('it is a checkpoint: give the key of the log, and another checkpoint')
    one = Checkpoint(text, path)
    verify_kept([one, *kept], keys, (), one.origin)
    return one.size, [], check_kept(kept, one.size, one.root, {}, [], proofs)

def check(path, keys, kept, proofs, files):
    """How many events there are, what is open, and what is not proven but would have to be."""
    if not os.path.isdir(path):
        with open(path, 'rb') as file: start = file.read(65536)
        if start.startswith(b'SQLite format 3\0'): return check_log(path, keys, kept, proofs, files)
        if b'\n\n\xe2\x80\x94 ' in start and not start.startswith(b'PK'): return check_note(start.decode(), path, keys, kept, proofs)
    archive = Archive(path)
    for name, check_one in ('bundle.json', check_bundle), ('manifest.json', check_export):
        if name not in archive.names: continue
        count, open_points, unproven = check_one(archive, parse(archive.read(name).decode()), keys, kept, proofs)
        return count, [*open_points, *(f'what {text} says' for text in ('summary.html', 'README.txt') if text in archive.names)], unproven
    raise Undecided('it is no bundle, no export, no log.db and no checkpoint')

def verdict(path, given):
    try:
        keys, kept, proofs = [key_of(key) for key in given.key], [], [answer_of(name) for name in given.proof]
        for name in given.checkpoint:
            with open(name, encoding='utf-8', newline='') as file: kept.append(Checkpoint(file.read(), name))
        count, open_points, unproven = check(path, keys, kept, proofs, given.files)
        for point in open_points: print(f'  open      {point}')
        if unproven: raise Undecided('; '.join(unproven))  # last, for a contradiction goes before it
        if not keys: raise Undecided('it is sound in itself, but no key was given')
        return 0, f'SOUND ({count} events)'
    except NotSound as error: return 1, f'NOT SOUND: {error}'
    except Undecided as error: return 2, f'UNDECIDED: {error}'
    except ImportError: return 2, 'UNDECIDED: without the package cryptography no signature can be checked'
    except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError, OSError, EOFError, zipfile.BadZipFile,
            NotImplementedError, RuntimeError, zlib.error, struct.error, sqlite3.Error) as error:
        return 2, f'UNDECIDED: it cannot be read: {error!r}'

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--key', action='append', default=[], help='a verifier key of the log')
    parser.add_argument('--checkpoint', action='append', default=[], help='a checkpoint that you kept')
    parser.add_argument('--proof', action='append', default=[], help='an answer of GET /api/audit/consistency')
    parser.add_argument('--files', help='with log.db: the folder of uploaded files')
    parser.add_argument('things', nargs='+', metavar='THING', help='log.db, a checkpoint; an evidence pack or an export: a ZIP, or its folder')
    given, exits = parser.parse_args(), []
    for path in given.things:
        exit, text = verdict(path, given)
        print(f'{path}: {text}')
        exits.append(exit)
    sys.exit(1 if 1 in exits else max(exits))

if __name__ == '__main__': main()
