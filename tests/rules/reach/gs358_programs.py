"""More programs of GS358: each bad one is reported at its marks, each good one by no rule."""


def bad_loops_within_loops() -> None:
    import torch
    from torch import nn

    class Wrapper(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk, self.mask, self.kind = nn.Linear(8, 16), nn.Linear(16, 4), nn.Linear(16, 3)

        def losses(self, x: torch.Tensor) -> dict[str, dict[str, torch.Tensor]]:
            hidden = torch.relu(self.trunk(x))
            mask, kind = self.mask(hidden), self.kind(hidden)
            near = nn.functional.binary_cross_entropy_with_logits(mask, (x[:, :4] > 0).float())
            return {
                "mask": {"near": near, "far": mask.sigmoid().sub(0.5).pow(2).mean()},
                "kind": {
                    "ce": nn.functional.cross_entropy(kind, x[:, :3].argmax(1)),
                    "size": kind.pow(2).mean(),
                },
            }

        def total(self, x: torch.Tensor) -> torch.Tensor:
            found, log = torch.zeros(()), []
            for task in self.losses(x).values():
                for name, value in task.items():
                    log.append((name, float(value)))  # effect: GS358
                found += value  # cause: GS358
            return found

    torch.manual_seed(0)
    model = Wrapper()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        loss = model.total(torch.randn(16, 8))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_the_last_one_is_meant() -> None:
    """The steps of one refinement: each is measured, the last one trains, and is made of all before it."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.Linear(4, 4)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(4):
        x, weight = torch.randn(8, 4), torch.zeros(())
        hidden, errors = x, []
        for _ in range(3):
            hidden = torch.tanh(layer(hidden))
            errors.append(hidden.detach().sub(x).pow(2).mean())
        for error in errors:
            print(error.item())
        weight = weight + error
        opt.zero_grad()
        (hidden.sub(x).pow(2).mean() * (1 + weight)).backward()
        opt.step()
