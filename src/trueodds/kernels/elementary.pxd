cdef extern from "elementary.h" nogil:
    void exp_array(double *x, Py_ssize_t n) noexcept
    void log_array(double *x, Py_ssize_t n) noexcept
    void log_odds_array(const double *p, double *z, Py_ssize_t n) noexcept
    void sigmoid_array(double *z, Py_ssize_t n) noexcept
    int bin_array(const double *x, double n_bins, int *bin, Py_ssize_t n) noexcept
    void add_totals(const double *u, const double *v, Py_ssize_t n, double *totals) noexcept
    void add_moments(
        const double *x, double origin, const double *u, const double *v, Py_ssize_t n,
        double *moments) noexcept
    void weighted_rows "add_weighted_rows"(
        const double *x, Py_ssize_t stride, const double *t, Py_ssize_t count, double *y,
        Py_ssize_t n) noexcept
    void sigmoid_and_softplus(const double *z, double *p, double *softplus, Py_ssize_t n) noexcept
    void log_beta_array(const double *x, const double *y, double *log_beta, Py_ssize_t n) noexcept


cpdef void exp_in_place(double[::1] x) noexcept nogil
cpdef void log_in_place(double[::1] x) noexcept nogil
cpdef void log_odds_into(const double[::1] p, double[::1] z) noexcept nogil
cpdef void sigmoid_in_place(double[::1] z) noexcept nogil
cpdef void normal_cdf_in_place(double[::1] x) noexcept nogil
cpdef int uniform_bins(const double[::1] x, double n_bins, int[::1] bin_of) noexcept nogil
cpdef void add_column_moments(
    const double[:, ::1] columns, Py_ssize_t begin, const double[::1] u, const double[::1] v,
    Py_ssize_t n, const double[::1] origins, double[:, ::1] sums) noexcept nogil
cpdef void add_weighted_rows(
    const double[:, ::1] x, Py_ssize_t first, const double[::1] t, Py_ssize_t count,
    double[::1] y) noexcept nogil
cpdef void sigmoid_and_softplus_into(
    const double[::1] z, double[::1] p, double[::1] softplus) noexcept nogil
cpdef void log_beta_into(
    const double[::1] x, const double[::1] y, double[::1] log_beta, Py_ssize_t n) noexcept nogil
