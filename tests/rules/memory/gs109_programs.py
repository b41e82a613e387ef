"""More programs of GS109: each bad one is reported at its marks, each good one by no rule."""


def bad_callable_object() -> None:
    import torch

    class Mask:
        def __init__(self, p: torch.Tensor) -> None:
            self.keep = (p > 0).float()
            p.register_hook(self)  # effect: GS109

        def __call__(self, grad: torch.Tensor) -> None:
            grad *= self.keep  # cause: GS109

    w = torch.ones(3, requires_grad=True)
    Mask(w)
    (w * w).sum().backward()


def bad_result_dropped() -> None:
    import torch

    def clip(grad: torch.Tensor) -> None:
        grad = grad.clamp(-0.1, 0.1)  # cause: GS109

    w = torch.ones(3, requires_grad=True)
    w.register_hook(clip)  # effect: GS109
    (w * w).sum().backward()


def bad_lambda() -> None:
    import torch

    w = torch.ones(3, requires_grad=True)
    w.register_hook(lambda grad: grad.clamp_(-0.1, 0.1))  # cause: GS109 # effect: GS109
    (w * w).sum().backward()


def bad_refused_by_torch() -> None:
    import torch

    h = torch.ones(3, requires_grad=True) * 2
    h.register_hook(lambda grad: grad.mul_(0.5))  # cause: GS109 # effect: GS109
    h.sum().backward()


def bad_dropped_in_a_branch() -> None:
    import torch
    from torch import nn

    def tame(gradient: torch.Tensor) -> None:
        if gradient.norm() > 0.1:
            gradient = gradient / gradient.norm()  # cause: GS109

    def without_first(gradient: torch.Tensor) -> None:
        gradient = gradient.clone()  # cause: GS109
        gradient[0] = 0.0

    model = nn.Linear(3, 2)
    model.weight.register_hook(tame)  # effect: GS109
    model.bias.register_hook(without_first)  # effect: GS109
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.ones(2, 3)).pow(2).sum().backward()
        opt.step()


def bad_chain_from_a_mask() -> None:
    import torch

    mask = torch.tensor([1.0, 0.0, 1.0])

    def masked(grad: torch.Tensor) -> None:
        mask.mul(grad).clamp(-0.1, 0.1)  # cause: GS109

    def scaled(grad: torch.Tensor) -> None:
        grad = 0.5 * (mask.matmul(grad) + grad)  # cause: GS109

    w = torch.ones(3, requires_grad=True)
    w.register_hook(masked)  # effect: GS109
    w.register_hook(scaled)  # effect: GS109
    (w * w).sum().backward()


def bad_hook_of_a_module() -> None:  # fix: by hand
    import torch
    from torch import nn

    def halve(module: nn.Module, given: tuple[torch.Tensor], got: tuple[torch.Tensor]) -> None:
        given[0].mul_(0.5)  # cause: GS109

    def clip(module: nn.Module, given: tuple[torch.Tensor], got: tuple[torch.Tensor]) -> None:
        given = (given[0].clamp(-0.1, 0.1),)  # cause: GS109

    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1))
    net[1].register_full_backward_hook(halve)  # effect: GS109
    net[2].register_full_backward_hook(clip)  # effect: GS109
    net(torch.randn(4, 3)).pow(2).sum().backward()


def bad_parts_by_another_name() -> None:  # fix: by hand
    import torch
    from torch import nn

    def halve(module: nn.Module, given: tuple[torch.Tensor], got: tuple[torch.Tensor]) -> None:
        for gradient in given:
            gradient *= 0.5  # cause: GS109

    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    net[1].register_full_backward_hook(halve)  # effect: GS109
    net(torch.randn(4, 3)).pow(2).sum().backward()


def good_hook_of_a_module() -> None:
    import torch
    from torch import nn

    norms: list[float] = []

    def halve(module: nn.Module, given: tuple[torch.Tensor], got: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        return (given[0] * 0.5,)

    def log(module: nn.Module, given: tuple[torch.Tensor], got: tuple[torch.Tensor]) -> None:
        largest = got[0].abs()
        norms.append(float(largest.max()))

    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1))
    net[1].register_full_backward_hook(halve)
    net[2].register_full_backward_hook(log)
    net(torch.randn(4, 3)).pow(2).sum().backward()


def good_collected() -> None:
    import torch

    seen: set[int] = set()
    total = torch.zeros(3)

    def collect(grad: torch.Tensor) -> None:
        total.add_(grad.abs()).mul_(0.5)
        size = grad.shape[0] * 4
        seen.add(size)
        seen.add(id(grad))

    w = torch.ones(3, requires_grad=True)
    w.register_hook(collect)
    (w * w).sum().backward()


def good_copy_edited() -> None:
    import torch

    def clip(grad: torch.Tensor) -> torch.Tensor:
        grad = grad.clone()
        grad.clamp_(-0.1, 0.1)
        return grad

    w = torch.ones(3, requires_grad=True)
    w.register_hook(clip)
    (w * w).sum().backward()


def good_logged() -> None:
    import torch

    norms: list[float] = []

    def log(grad: torch.Tensor) -> None:
        grad = grad.detach().flatten()
        norms.append(float(grad.norm()))

    w = torch.ones(3, requires_grad=True)
    w.register_hook(log)
    w.register_hook(lambda grad: norms.append(float(grad.max())))
    (w * w).sum().backward()


def good_after_accumulation() -> None:
    import torch

    def clip(p: torch.Tensor) -> None:
        assert p.grad is not None
        p.grad.clamp_(-0.1, 0.1)

    w = torch.ones(3, requires_grad=True)
    w.register_post_accumulate_grad_hook(clip)
    (w * w).sum().backward()


def bad_parts_of_a_modules_gradient_dropped() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.emb, self.out = nn.Embedding(20, 6), nn.Linear(6, 2)
            self.out.register_full_backward_hook(self.shrink)  # effect: GS109

        def shrink(self, module, grad_in, grad_out):
            tuple(g / (1e-6 + g.norm()) for g in grad_in if g is not None)  # cause: GS109

        def forward(self, index):
            return self.out(self.emb(index))

    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        index = torch.randint(0, 20, (32,))
        loss = nn.functional.cross_entropy(model(index), index % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_parts_of_a_modules_gradient_looked_at() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    emb, out, seen = nn.Embedding(20, 6), nn.Linear(6, 2), []

    def look(module, grad_in, grad_out):
        norms = [float(g.norm() * 2) for g in grad_in if g is not None]
        tuple(seen.append((g * 1.0).norm().item()) for g in grad_out)
        seen.extend(norms)

    def halve(module, grad_in, grad_out):
        return tuple(0.5 * g if g is not None else None for g in grad_in)

    out.register_full_backward_hook(look)
    out.register_full_backward_hook(halve)
    opt = torch.optim.Adam([*emb.parameters(), *out.parameters()], lr=1e-2)
    for _ in range(3):
        index = torch.randint(0, 20, (32,))
        loss = nn.functional.cross_entropy(out(emb(index)), index % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()
