"""More programs of GS245: each bad one is reported at its marks, each good one by no rule."""


def bad_gradient_masked_by_a_hook() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.Linear(6, 12), nn.Linear(12, 6)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.01)
    for step in range(14):
        if step == 5:
            kept = (torch.arange(12) % 2 == 0).float()[:, None].expand(12, 6)
            with torch.no_grad():
                layer.weight.mul_(kept)
            layer.weight.register_hook(lambda grad, kept=kept: grad * kept)
        x = torch.randn(16, 6)
        opt.zero_grad()
        (head(torch.tanh(layer(x))) - x.flip(1)).pow(2).mean().backward()
        opt.step()  # cause: GS245


def good_masked_in_the_model() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Masked(nn.Linear):
        def __init__(self, n: int, m: int) -> None:
            super().__init__(n, m)
            self.register_buffer("mask", torch.ones(m, n))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.linear(x, self.weight * self.mask, self.bias)

    model = nn.Sequential(Masked(6, 8), nn.Tanh(), Masked(8, 6))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(12):
        if step == 4:
            for layer in model:
                if isinstance(layer, Masked):
                    layer.mask = (layer.weight.detach().abs() > layer.weight.detach().abs().median()).float()
                    layer.weight.data *= layer.mask
        x = torch.randn(16, 6)
        opt.zero_grad()
        (model(x) - x.flip(1)).pow(2).mean().backward()
        opt.step()


def good_zeros_at_the_beginning() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, gate = nn.Linear(6, 12), nn.Linear(12, 6)
    nn.init.zeros_(gate.weight)
    with torch.no_grad():
        gate.weight[:, ::3] = 0.1
    opt = torch.optim.Adam([*body.parameters(), *gate.parameters()], lr=0.01)
    for _ in range(12):
        x = torch.randn(16, 6)
        opt.zero_grad()
        (x + gate(torch.relu(body(x))) - x.flip(1)).pow(2).mean().backward()
        opt.step()


def good_shrunk_to_zero_after_each_step() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(20, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(20):
        x = torch.randn(32, 20)
        opt.zero_grad()
        (model(x) - x[:, :4]).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            w = model.weight
            w.copy_(w.sign() * (w.abs() - 0.05).clamp(min=0))


def good_weights_that_may_grow_again() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 6))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(16):
        if step % 4 == 3:
            with torch.no_grad():
                for layer in (model[0], model[2]):
                    layer.weight[layer.weight.abs() < 0.1] = 0
        x = torch.randn(16, 6)
        opt.zero_grad()
        (model(x) - x.flip(1)).pow(2).mean().backward()
        opt.step()


def good_rows_of_words_that_never_come() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, head = nn.Embedding(30, 6), nn.Linear(6, 2)
    nn.init.zeros_(embed.weight)
    with torch.no_grad():
        embed.weight[:10].normal_()
    opt = torch.optim.Adam([*embed.parameters(), *head.parameters()], lr=0.01)
    for _ in range(12):
        tokens = torch.randint(0, 10, (16,))
        opt.zero_grad()
        nn.functional.cross_entropy(head(embed(tokens)), tokens % 2).backward()
        opt.step()
