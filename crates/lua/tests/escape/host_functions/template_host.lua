-- expect: no name is looked up
local found = template.render('{{ getHostByName "localhost" }}', {})
error(if found == '' then 'no name is looked up' else 'ESCAPED: ' .. found)
