package priority

// list is a doubly linked list of ready streams, the longest waiting first.
type list struct{ first, last *Stream }

func (l *list) append(st *Stream) {
	st.prev, st.next = l.last, nil
	if l.last == nil {
		l.first = st
	} else {
		l.last.next = st
	}
	l.last = st
}

func (l *list) remove(st *Stream) {
	if st.prev == nil {
		l.first = st.next
	} else {
		st.prev.next = st.next
	}
	if st.next == nil {
		l.last = st.prev
	} else {
		st.next.prev = st.prev
	}
	st.prev, st.next = nil, nil
}
