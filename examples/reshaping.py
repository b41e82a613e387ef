"""Ops that move, join, split and select: each keeps the gradient's path, indices have none."""

import torch

a = torch.arange(12.0).reshape(3, 4).requires_grad_()
b = torch.ones(3, 4, requires_grad=True)

joined = torch.cat([a, b])
stacked = torch.stack([a, b])
first_chunk, _ = torch.chunk(a, 2, dim=1)
left, right = torch.split(a, [1, 3], dim=1)
rows = torch.unbind(a)
permuted = stacked.permute(2, 0, 1)
transposed = a.transpose(0, 1)
unsqueezed = a.unsqueeze(0)
squeezed = unsqueezed.squeeze(0)
selected = torch.index_select(a, 1, torch.tensor([0, 2]))
masked = torch.masked_select(a, a > 5)
best, best_at = a.topk(2, dim=1)
largest, largest_at = a.max(dim=1)

for name in "first_chunk left right permuted transposed unsqueezed squeezed".split():
    value = globals()[name]
    print(f"{name:12}", value.grad_fn.name(), "is a view:", value._is_view())
for name in "joined stacked selected masked best largest".split():
    value = globals()[name]
    print(f"{name:12}", value.grad_fn.name(), "is a view:", value._is_view())
print("rows        ", rows[0].grad_fn.name(), "is a view:", rows[0]._is_view())
print("indices require grad:", best_at.requires_grad, largest_at.requires_grad)

outputs = (
    joined, first_chunk, left, right, *rows, permuted, transposed, squeezed, selected, masked, best, largest
)  # fmt: skip
sum(value.sum() for value in outputs).backward()
print("a.grad", a.grad.tolist())
