-- Drives `pintle lsp` from a headless Neovim, as users do: `nvim --headless --clean -l` of newer versions, `-S` of older ones.
-- The program, the workspace and the file for the result are in the environment. Works with Neovim 0.7.

local program, workspace, report = vim.env.PINTLE, vim.env.PINTLE_WORKSPACE, vim.env.PINTLE_REPORT
local passed = {}

local function check(condition, what)
  if not condition then
    error(what, 0)
  end
  table.insert(passed, what)
end

-- The cursor goes to a text of the buffer, or behind it.
local function cursor(text, offset)
  vim.fn.cursor(1, 1)
  if vim.fn.search("\\V" .. text, "cW") == 0 then
    error("there is no " .. text, 0)
  end
  vim.fn.cursor(vim.fn.line("."), vim.fn.col(".") + (offset or 0))
end

local function request(client, method, more)
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  -- With a number, because older versions send pending changes for that one only.
  local buffer = vim.api.nvim_get_current_buf()
  local answer = client.request_sync(method, vim.tbl_extend("force", params, more or {}), 10000, buffer)
  if not answer or answer.err then
    error(method .. " is not answered: " .. vim.inspect(answer), 0)
  end
  return answer.result
end

local function run()
  vim.cmd("edit " .. workspace .. "/web/templates/deployment.yaml")
  local attached = false
  local id = vim.lsp.start_client({
    name = "pintle",
    cmd = { program, "lsp" },
    root_dir = workspace,
    on_attach = function()
      attached = true
    end,
  })
  check(id ~= nil, "the server starts")
  check(vim.lsp.buf_attach_client(0, id), "the buffer is attached")
  check(vim.wait(10000, function()
    return attached
  end, 20), "the server is ready")
  local client = vim.lsp.get_client_by_id(id)

  -- Completion behind a dot, in a text that is not saved.
  cursor("image: ")
  vim.api.nvim_buf_set_lines(0, 0, 0, true, { "# é {{ .Values.image. }}" })
  cursor(".Values.image. ", #".Values.image.")
  local labels = {}
  for _, item in ipairs(request(client, "textDocument/completion").items) do
    labels[item.label] = true
  end
  check(labels.repository and labels.tag, "the keys of a value are completed")
  check(not labels.Values, "others are not")
  vim.api.nvim_buf_set_lines(0, 0, 1, true, {})

  cursor(".Values.image.tag", #".Values.image.")
  local hover = request(client, "textDocument/hover")
  check(hover.contents.value:find("1.2", 1, true), "a hover shows the value")

  local places = request(client, "textDocument/definition")
  check(places[1].uri:find("values.yaml", 1, true) and places[1].range.start.line == 2, "a value is defined in values.yaml")

  cursor('include "web.name"', #'include "')
  places = request(client, "textDocument/definition")
  check(places[1].uri:find("_helpers.tpl", 1, true), "a definition is found")

  -- A rename changes files, with the edit that Neovim applies.
  cursor(".Values.replicas", #".Values.")
  local edit = request(client, "textDocument/rename", { newName = "count" })
  vim.lsp.util.apply_workspace_edit(edit, client.offset_encoding)
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\n")
  check(text:find(".Values.count", 1, true), "the template has the new name")
  local values = vim.fn.bufnr(workspace .. "/web/values.yaml")
  text = table.concat(vim.api.nvim_buf_get_lines(values, 0, -1, true), "\n")
  check(text:find("count: 2", 1, true), "the values have it, too")

  -- Diagnostics come by themselves while typing, and go.
  local last = vim.api.nvim_buf_line_count(0)
  vim.api.nvim_buf_set_lines(0, last, last, true, { "{{ if .Values.count }}", "{{ nonsense }}" })
  check(vim.wait(10000, function()
    return #vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR }) >= 2
  end, 20), "errors of syntax are shown")
  vim.api.nvim_buf_set_lines(0, last, -1, true, {})
  check(vim.wait(10000, function()
    return #vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR }) == 0
  end, 20), "they go when the text is right")

  -- What a cluster would refuse is found by rendering.
  vim.api.nvim_buf_set_lines(0, last, last, true, { "  minReadySecond: 3" })
  check(vim.wait(20000, function()
    for _, one in ipairs(vim.diagnostic.get(0)) do
      if one.message:find("minReadySecond", 1, true) and one.lnum == last then
        return true
      end
    end
  end, 20), "an unknown field is found")

  local shown = request(client, "pintle/preview")
  check(shown.text:find("image: nginx:1.2", 1, true), "the template is previewed")
  vim.lsp.stop_client(id)
end

local ok, problem = pcall(run)
local lines = vim.deepcopy(passed)
table.insert(lines, ok and "OK" or "FAILED: " .. tostring(problem))
vim.fn.writefile(vim.split(table.concat(lines, "\n"), "\n"), report)
vim.cmd(ok and "qall!" or "cquit!")
