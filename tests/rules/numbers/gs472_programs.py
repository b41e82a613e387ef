"""More programs of GS472: each bad one is reported at its marks, each good one by no rule."""


def bad_scale_of_its_own() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gain = nn.Parameter(torch.ones(6))
            self.body = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 6))

        def forward(self, series: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            scaled = self.gain * series  # cause: GS472
            return self.body(scaled[:, :5]), scaled

    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(6):
        said, wanted = model(torch.randn(32, 6))
        loss = (said - wanted).square().mean()  # effect: GS472
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_layer_norm_of_the_inputs() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    norm = nn.LayerNorm(8)  # cause: GS472
    body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    opt = torch.optim.Adam([*norm.parameters(), *body.parameters()], lr=0.01)
    for _ in range(6):
        clean = norm(torch.randn(32, 8) * 3 + 5)
        hidden = clean * (torch.rand(32, 8) > 0.5)
        loss = nn.functional.smooth_l1_loss(body(hidden), clean)  # effect: GS472
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_without_weights() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    norm = nn.LayerNorm(8, elementwise_affine=False)
    body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    opt = torch.optim.Adam(body.parameters(), lr=0.01)
    for _ in range(6):
        clean = norm(torch.randn(32, 8) * 3 + 5)
        hidden = clean * (torch.rand(32, 8) > 0.5)
        loss = nn.functional.smooth_l1_loss(body(hidden), clean)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_compared_with_the_raw_series() -> None:
    """Inputs are normalised with trained weights, and the answers are brought back: the target is data."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    gain, shift = nn.Parameter(torch.ones(8)), nn.Parameter(torch.zeros(8))
    body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    opt = torch.optim.Adam([gain, shift, *body.parameters()], lr=0.01)
    for _ in range(6):
        series = torch.randn(32, 8)
        scaled = series * gain + shift
        answer = (body(scaled * (torch.rand(32, 8) > 0.5)) - shift) / gain
        loss = nn.functional.mse_loss(answer, series)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_scale_with_its_own_term() -> None:
    """The likelihood of a scaled series: the logarithm of the scale keeps it from going to zero."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    gain = nn.Parameter(torch.zeros(8))
    body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    opt = torch.optim.Adam([gain, *body.parameters()], lr=0.01)
    for _ in range(6):
        series = torch.randn(32, 8)
        scaled = series * gain.exp()
        hidden = scaled * (torch.rand(32, 8) > 0.5)
        loss = 0.5 * (body(hidden) - scaled).pow(2).mean() - gain.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
