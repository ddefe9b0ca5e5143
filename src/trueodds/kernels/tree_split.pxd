cdef class Splitter:
    cdef Py_ssize_t n_attributes, n_classes
    cdef double min_gap
    cdef bint all_many_valued, unit_weight
    # The whole training set.
    cdef const double[:, ::1] attributes
    cdef const long long[::1] n_values
    cdef const unsigned char[::1] many_valued
    cdef const int[:, ::1] sorted_rows
    cdef const int[::1] y
    cdef const double[::1] table
    # The rows of the tree: a node owns a segment.
    cdef readonly Py_ssize_t n_train, n_test
    cdef const double[::1] weight
    cdef int[::1] rows, test_rows
    cdef int[:, ::1] order
    cdef double[:, ::1] values
    # The node of the moment.
    cdef readonly double total, largest, cut
    cdef double[::1] counts, left, right, gains, ratios, cuts
    cdef double[:, ::1] cells
    cdef readonly Py_ssize_t n_branches
    cdef long long[::1] offsets, test_offsets, place
    cdef unsigned short[::1] branch
    cdef int[::1] buffer
    cdef double[::1] value_buffer

    cpdef void count(self, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cpdef Py_ssize_t choose(self, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef double x_log_x(self, double x) noexcept nogil
    cdef void find_cut(self, Py_ssize_t a, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void weigh_branches(self, Py_ssize_t a, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void split(
        self, Py_ssize_t a, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t test_begin,
        Py_ssize_t test_end) noexcept nogil
    cdef double largest_value_up_to(self, Py_ssize_t a, double limit) noexcept nogil
    cdef void send(
        self, Py_ssize_t a, int[::1] rows, Py_ssize_t begin, Py_ssize_t end,
        long long[::1] offsets) noexcept nogil
    cdef void partition(
        self, int[::1] rows, Py_ssize_t begin, Py_ssize_t end,
        long long[::1] offsets) noexcept nogil
    cdef void partition_sorted(self, Py_ssize_t a, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
