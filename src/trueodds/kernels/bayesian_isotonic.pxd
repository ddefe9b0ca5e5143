cdef class RandomStream:
    cdef unsigned long long state
    cpdef void begin(self, unsigned long long seed, unsigned long long index) noexcept nogil
    cpdef double uniform(self) noexcept nogil


cdef class SearchTree:
    cdef Py_ssize_t n
    cdef bint bounded
    cdef RandomStream stream
    cdef readonly object values, first, last, order, place
    cdef double[::1] v, lower, upper
    cdef long long[::1] lo, hi, listed, at
    cdef double[:, ::1] rows, columns

    cpdef void draw(self) noexcept nogil
    cpdef double width(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k) noexcept nogil
    cpdef void list_ranks(self) noexcept nogil
    cpdef void redraw(self, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cpdef void rotate(self, Py_ssize_t k) noexcept nogil
    cdef double weigh_roots(self, Py_ssize_t begin, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef double weigh_roots_of_one_width(
        self, Py_ssize_t begin, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t pick_root(
        self, Py_ssize_t begin, Py_ssize_t i, Py_ssize_t j, double enough) noexcept nogil
