cdef class BoostedRows:
    cdef readonly Py_ssize_t n
    cdef Py_ssize_t n_models, n_columns, n_classes
    cdef double[:, ::1] scores, F
    cdef int[::1] y
    cdef double[::1] weight, top, total
    cdef readonly double[:, ::1] p

    cpdef void take(
        self, const double[:, ::1] scores, const int[::1] y, const double[::1] weight,
        const int[::1] rows) noexcept nogil
    cdef void add(
        self, const double[:, ::1] scores, int label, double weight,
        Py_ssize_t row) noexcept nogil
    cpdef void evaluate(self, const double[:, ::1] coef) noexcept nogil
    cdef void link(self, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cpdef double squared_error(self) noexcept nogil
    cpdef double wrong_weight(self) noexcept nogil


cdef class Booster:
    cdef BoostedRows train, test
    cdef const double[:, ::1] targets
    cdef Py_ssize_t most, patience
    cdef double slack, share
    cdef double[::1] error
    cdef double[:, ::1] wanted, centre
    cdef double[:, :, ::1] sums
    cdef double[::1] spread, slope, intercept, work, resid
    cdef long long[::1] column

    cpdef Py_ssize_t boost(
        self, BoostedRows sample, Py_ssize_t n_iterations, double[:, ::1] coef) noexcept nogil
    cpdef Py_ssize_t choose_iterations(
        self, BoostedRows sample, const double[:, ::1] start,
        const double[:, ::1] test_weight) noexcept nogil
    cdef void prepare(self, BoostedRows sample) noexcept nogil
    cdef bint regress(self, BoostedRows sample) noexcept nogil
    cdef void measure(self, BoostedRows sample, Py_ssize_t k, Py_ssize_t begin) noexcept nogil
    cdef bint choose_column(self, BoostedRows sample, Py_ssize_t k) noexcept nogil
    cdef void advance(self, BoostedRows sample) noexcept nogil
    cdef void accumulate(self, double[:, ::1] coef) noexcept nogil
    cdef Py_ssize_t run_fold(self, Py_ssize_t shortest) noexcept nogil


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


cdef class TreeFolds:
    cdef const long long[:, ::1] decks
    cdef bint weka, whole_rows
    cdef double[:, ::1] weight_in
    cdef int[::1] grouped, sequence
    cdef readonly object test_weight, order

    cpdef void deal(self, BoostedRows sample) noexcept nogil
    cdef void deal_as_weka(self, BoostedRows sample) noexcept nogil
    cdef void deal_decks(self, BoostedRows sample) noexcept nogil
