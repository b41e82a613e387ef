"""More programs of GS455: each bad one is reported at its marks, each good one by no rule."""


def bad_norm_of_torchs_own() -> None:  # fix: by hand
    import torch
    from torch import nn

    def clip(grads: list[torch.Tensor], most: float) -> None:
        total = torch.stack([torch.norm(g) for g in grads]).square().sum()  # cause: GS455
        share = most / (float(total) ** 0.5 + 1e-6)
        if share < 1:
            for g in grads:
                g.mul_(share)  # effect: GS455

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.randn(64, 8)
        opt.zero_grad()
        nn.functional.mse_loss(model(x), 400 * x[:, :1]).backward()
        grads = [p.grad.half() for p in model.parameters()]
        clip(grads, 5.0)
        for p, g in zip(model.parameters(), grads, strict=True):
            p.grad.copy_(g)
        opt.step()


def good_norm_of_torchs_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.randn(64, 8)
        opt.zero_grad()
        nn.functional.mse_loss(model(x), 400 * x[:, :1]).backward()
        grads = [p.grad.half() for p in model.parameters()]
        total = torch.stack([torch.norm(g.float()) for g in grads]).square().sum().sqrt()
        for g in grads:
            g.mul_((5.0 / (total + 1e-6)).clamp(max=1.0))
        for p, g in zip(model.parameters(), grads, strict=True):
            p.grad.copy_(g)
        opt.step()


def good_scale_that_is_found() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, scale = nn.Linear(8, 1), 4096.0
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(12):
        x = torch.randn(64, 8)
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), x[:, :1])
        (loss * scale).backward()
        grads = [p.grad.half() for p in model.parameters()]
        norm = torch.stack([g.square().sum() for g in grads]).sum()
        finite = bool(norm.isfinite())
        scale = scale if finite else scale / 2
        if finite:
            for p, g in zip(model.parameters(), grads, strict=True):
                p.grad.copy_(g.float() / scale)
            opt.step()
