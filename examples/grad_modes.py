"""The same sum under each grad mode: no graph inside, everything as before outside."""

import torch

x = torch.ones(2, requires_grad=True)
y = torch.ones(2)
z = torch.ones(2)


@torch.no_grad()
def add_without_graph() -> torch.Tensor:
    return x + y + z


with torch.no_grad():
    in_no_grad = x + y + z
    with torch.enable_grad():
        in_enable_grad = x + y + z
with torch.inference_mode():
    in_inference_mode = x + y + z
with torch.set_grad_enabled(False):
    in_set_grad_enabled = x + y + z
decorated = add_without_graph()
outside = x + y + z

print("no_grad:", in_no_grad.grad_fn)
print("enable_grad within no_grad:", in_enable_grad.grad_fn.name())
print("inference_mode:", in_inference_mode.grad_fn)
print("set_grad_enabled(False):", in_set_grad_enabled.grad_fn)
print("@no_grad:", decorated.grad_fn)
print("outside:", outside.grad_fn.name(), "and x still requires grad:", x.requires_grad)
