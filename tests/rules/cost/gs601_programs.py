"""More programs of GS601: each bad one is reported at its marks, each good one by no rule."""


def bad_first_state() -> None:
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.GRU(3, 4)
            self.out = nn.Linear(4, 2)
            self.scale = nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.tanh(self.scale * x)
            h = torch.zeros(1, x.size(1), 4, requires_grad=True)  # cause: GS601
            out: torch.Tensor = self.out(self.rnn(y, h)[0])
            return out

    model = Tagger()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        loss = model(torch.randn(5, 8, 3)).pow(2).mean()
        loss.backward()  # effect: GS601
        opt.step()


def bad_target() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(8, 4)
    y = torch.randn(8, 1)
    y.requires_grad_()  # cause: GS601
    for _ in range(3):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()  # effect: GS601
        opt.step()


def bad_noise_of_a_generator() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 3), nn.Linear(3, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        z = torch.randn(4, 2, requires_grad=True)  # cause: GS601
        fake = generator(z)
        opt_c.zero_grad()
        (critic(fake.detach()) - critic(torch.randn(4, 3))).mean().backward()
        opt_c.step()
        opt_g.zero_grad()
        loss = -critic(fake).mean()
        loss.backward()  # effect: GS601
        opt_g.step()


def good_points_drawn_around_a_grid() -> None:
    """Without the grid's gradient the points have none, and `autograd.grad` fails."""
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    grid = torch.linspace(0.0, 2.0, 16, requires_grad=True)
    for _ in range(4):
        t = torch.normal(mean=grid, std=0.02).reshape(-1, 1)
        u = 1 + t * net(t)
        (du,) = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)
        loss = (du + u).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_noise_on_points_that_are_made_anew() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        points = torch.rand(16, 1, requires_grad=True)
        t = points + 0.01 * torch.randn(16, 1)
        u = net(t)
        (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        loss = (du + u).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_columns_of_points() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    xt = torch.rand(16, 2, requires_grad=True)
    for _ in range(4):
        x, t = xt[:, :1], xt[:, 1:]
        u = net(torch.cat([x, t], dim=1))
        (ux,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (ut,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        start = net(torch.cat([x, 0 * t], dim=1))
        loss = (ut + ux).pow(2).mean() + (start - x.sin()).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_kept_gradient_of_a_view() -> None:
    """What `retain_grad()` keeps is read; the view has a gradient only because the leaf asks for one."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        flat = torch.randn(32, requires_grad=True)
        x = flat.reshape(8, 4)
        x.retain_grad()
        opt.zero_grad()
        model(x).pow(2).mean().backward()
        opt.step()
        assert x.grad is not None
        print(f"{x.grad.norm().item():.3f}")


def bad_beside_the_gradient_of_a_hidden_layer() -> None:
    """`hidden` has its gradient by the layer's weights: `autograd.grad` needs none of `x` for it."""
    import torch
    from torch import nn

    first, last = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4, requires_grad=True)  # cause: GS601
        hidden = first(x).tanh()
        out = last(hidden)
        (slope,) = torch.autograd.grad(out.sum(), hidden, create_graph=True)
        opt.zero_grad()
        loss = out.pow(2).mean() + slope.pow(2).mean()
        loss.backward()  # effect: GS601
        opt.step()


def good_adversarial_training() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4, requires_grad=True)
        model(x).pow(2).mean().backward()
        assert x.grad is not None
        near = (x + 0.1 * x.grad.sign()).detach()
        opt.zero_grad()
        model(near).pow(2).mean().backward()
        opt.step()


def bad_field_of_a_batch() -> None:
    from types import SimpleNamespace

    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 1)

        def forward(self, batch: SimpleNamespace) -> torch.Tensor:
            y: torch.Tensor = self.fc(batch.x)
            return y

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        x.requires_grad_()  # cause: GS601
        opt.zero_grad()
        model(SimpleNamespace(x=x)).pow(2).mean().backward()  # effect: GS601
        opt.step()


def good_tutorial() -> None:
    import torch

    x = torch.ones(3, requires_grad=True)
    y = torch.ones(3, requires_grad=True)
    (x * y).sum().backward()


def good_gradient_of_a_state() -> None:
    import torch
    from torch import nn

    class Probe(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.GRU(3, 4)
            self.first: torch.Tensor | None = None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.first = torch.zeros(1, x.size(1), 4, requires_grad=True)
            out: torch.Tensor = self.rnn(x, self.first)[0]
            return out

    model = Probe()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    norms = []
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(5, 8, 3)).pow(2).mean().backward()
        assert model.first is not None and model.first.grad is not None
        norms.append(model.first.grad.norm().item())
        opt.step()


def good_trained_input() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    code = torch.randn(1, 4, requires_grad=True)
    opt = torch.optim.SGD([*model.parameters(), code], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(code).pow(2).mean().backward()
        opt.step()


def good_asked_for_under_an_option() -> None:
    import torch
    from torch import nn

    def turn(critic: nn.Module, opt: torch.optim.Optimizer, real: torch.Tensor, penalty: bool) -> None:
        opt.zero_grad()
        real.requires_grad_()
        said = critic(real)
        nn.functional.softplus(-said).mean().backward(retain_graph=penalty)
        if penalty:
            slope = torch.autograd.grad(said.sum(), real, create_graph=True)[0]
            slope.pow(2).sum(1).mean().backward()
        opt.step()

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(6):
        turn(critic, opt, torch.randn(16, 6), False)


def good_hook_of_a_frozen_layer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, head = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8)), nn.Linear(8, 2)
    trunk.load_state_dict({name: value / 2 for name, value in trunk.state_dict().items()})
    trunk.requires_grad_(False)
    norms: list[float] = []
    trunk[0].register_full_backward_hook(lambda layer, to, of: norms.append(of[0].norm().item()))
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4).requires_grad_()
        opt.zero_grad()
        head(trunk(x)).pow(2).mean().backward()
        opt.step()


def good_input_of_a_function_that_trains_its_own_layers() -> None:
    """A reversible block: its `backward` computes forwards once more, and fills the gradients of its layers itself."""
    import torch
    from torch import nn

    class Reversible(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, layer):
            ctx.x, ctx.layer = x.detach(), layer
            with torch.no_grad():
                return x + layer(x)

        @staticmethod
        def backward(ctx, given):
            x = ctx.x.requires_grad_()
            with torch.enable_grad():
                y = ctx.layer(x)
            y.backward(given)
            return given + x.grad, None

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not x.requires_grad:
                x = x.detach().requires_grad_()
            return Reversible.apply(x, self.layer)

    torch.manual_seed(0)
    model = nn.Sequential(Block(), nn.Linear(4, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(8):
        x = torch.randn(16, 4)
        opt.zero_grad()
        (model(x)[:, 0] - x.prod(1)).pow(2).mean().backward()
        opt.step()
