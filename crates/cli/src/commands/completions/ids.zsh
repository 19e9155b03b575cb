# Ids come from the running daemon.
_ctx_ids() {
    local -a ids
    ids=(${(f)"$(ctx completions --ids $1 2>/dev/null | sed 's/\t/:/')"})
    _describe -V id ids
}
