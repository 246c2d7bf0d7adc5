package spool

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// removedFile makes a temporary file and takes its name away at once.
func removedFile(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "spillway-*")
	if err != nil {
		return nil, fmt.Errorf("create spool file: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("unlink spool file: %w", err), file.Close())
	}
	return file, nil
}

// makeRoom sees to it that n more bytes can be stored: in the buffer, in a
// larger one, or in a file. The caller holds writing.
func (s *Spool) makeRoom(n int64) error {
	need := max(s.size+n, s.expected)
	if s.file != nil || need <= int64(len(s.buf)) {
		return nil
	}
	if !s.enlarge(need) {
		return s.moveToDisk()
	}
	return nil
}

// enlarge sees to a buffer for n bytes; false when memory has no room for it.
func (s *Spool) enlarge(n int64) bool {
	size, ok := s.pool.sizeFor(n, int64(len(s.buf)))
	if !ok {
		return false
	}
	if s.resize(size) {
		return true
	}
	buf, present := s.pool.takeBuffer(size)
	if buf == nil {
		return false
	}
	copy(buf, s.buf[:s.size])
	s.swap(buf, nil)
	s.present = present
	return true
}

// resize changes the buffer where it is; false when that cannot be. Readers
// copy from an unfinished buffer only under mu, so none sees it move.
func (s *Spool) resize(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	buf := s.pool.resizeBuffer(s.buf, size)
	if buf == nil {
		return false
	}
	s.buf = buf
	return true
}

// trim gives back what a finished spool will not fill. The caller holds both
// locks, and no reader has been told yet that the buffer stands still.
func (s *Spool) trim() {
	size := wholePages(s.size)
	if size >= int64(len(s.buf)) {
		return
	}
	if buf := s.pool.resizeBuffer(s.buf, size); buf != nil {
		s.buf = buf
	}
}

// moveToDisk writes what is in memory to a file and gives the memory back.
func (s *Spool) moveToDisk() error {
	file, err := unlinkedFile(s.pool.cfg.Dir)
	if err != nil {
		return fmt.Errorf("open spool file: %w", diskError(err))
	}
	if err := s.writeFile(file, s.buf[:s.size], 0); err != nil {
		return errors.Join(err, file.Close())
	}
	s.swap(nil, file)
	return nil
}

// swap changes where the bytes are. Readers copy from an unfinished buffer
// only under mu, so after it nobody looks at the old one.
func (s *Spool) swap(buf []byte, file *os.File) {
	s.mu.Lock()
	old := s.buf
	s.buf, s.file = buf, file
	s.mu.Unlock()
	s.pool.returnBuffer(old)
}

// store puts p behind the bytes that readers see. The caller holds writing,
// so that size, buf and file stand still.
func (s *Spool) store(p []byte) error {
	if s.file == nil {
		s.bringIn(s.size + int64(len(p)))
		copy(s.buf[s.size:], p)
		return nil
	}
	return s.writeFile(s.file, p, s.size)
}

// bringIn sees to the pages of a large buffer up to end, and of some more at
// once, where the buffer has them.
func (s *Spool) bringIn(end int64) {
	if isSmall(s.buf) || end <= s.present {
		return
	}
	to := min(max(end, s.size+ahead), int64(len(s.buf)))
	populate(s.buf, s.size, to)
	s.present = to
}

// writeFile reserves disk before it writes. What was reserved for a write
// that fails is given back with the spool.
func (s *Spool) writeFile(file *os.File, p []byte, offset int64) error {
	n := int64(len(p))
	if err := s.pool.reserveDisk(n); err != nil {
		return err
	}
	s.disk += n
	if _, err := file.WriteAt(p, offset); err != nil {
		return fmt.Errorf("write spool file: %w", diskError(err))
	}
	return nil
}

// diskError makes a full disk look like a used-up budget: the answer to the
// client is the same.
func diskError(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// contiguous is all bytes of a finished spool in one slice. The caller holds mu.
func (s *Spool) contiguous() ([]byte, error) {
	if s.file == nil {
		return s.buf[:s.size:s.size], nil
	}
	if s.mapped != nil {
		return s.mapped, nil
	}
	mapped, err := unix.Mmap(int(s.file.Fd()), 0, int(s.size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map spool file: %w", err)
	}
	s.mapped = mapped
	return mapped, nil
}

// Idle tells that the content will not be needed for a while: what of a file is
// mapped leaves the memory of the process, and comes back when it is touched.
// Memory that is the only place of the bytes stays. It is safe at any time.
func (s *Spool) Idle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	// After the last release the mapping may be gone, and its place be another's.
	if s.refs > 0 && s.mapped != nil {
		letGo(s.mapped)
	}
}

// free gives everything back after the last reference is gone. Nobody else
// can hold the spool's storage any more, so no lock is needed. A failing
// munmap or close leaves nothing to do: the file has no name.
func (s *Spool) free() {
	if s.mapped != nil {
		_ = unix.Munmap(s.mapped)
	}
	if s.file != nil {
		_ = s.file.Close()
	}
	s.pool.returnBuffer(s.buf)
	s.mapped, s.file, s.buf = nil, nil, nil
	s.pool.forget(s.disk)
}
