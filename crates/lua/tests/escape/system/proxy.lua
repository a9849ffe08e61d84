-- expect: is not for scripts, because by its name it may hold a secret
-- granted: os
local ok, why = pcall(os.getenv, 'HTTPS_PROXY')
error(if ok then 'ESCAPED' else why)
