"""More programs of GS309: each bad one is reported at its marks, each good one by no rule."""


def bad_zeros() -> None:  # fix: by hand
    from typing import Any

    import torch
    from torch import nn

    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.round()

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:  # cause: GS309
            return torch.zeros_like(g)

    fc, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD([*fc.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        head(Rounded.apply(fc(torch.randn(4, 3)) * 5)).pow(2).sum().backward()  # effect: GS309
        opt.step()


def good_none_for_the_rest() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Pick(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, index: torch.Tensor, factor: float) -> torch.Tensor:
            ctx.save_for_backward(index)
            ctx.shape, ctx.factor = x.shape, factor
            return x[index] * factor

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            (index,) = ctx.saved_tensors
            return g.new_zeros(ctx.shape).index_add(0, index, g * ctx.factor), None, None

    fc = nn.Linear(3, 3)
    opt = torch.optim.SGD(fc.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        Pick.apply(fc(torch.randn(4, 3)), torch.tensor([0, 2]), 2.0).pow(2).sum().backward()
        opt.step()


def good_codebook_moved_by_hand() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Quantize(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, book: torch.Tensor) -> torch.Tensor:
            return book[torch.cdist(x, book).argmin(1)]

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            return g, None

    fc, head, book = nn.Linear(3, 2), nn.Linear(2, 1), nn.Parameter(torch.randn(5, 2))
    opt = torch.optim.SGD([*fc.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        z = fc(torch.randn(4, 3))
        head(Quantize.apply(z, book)).pow(2).sum().backward()
        opt.step()
        with torch.no_grad():
            book.lerp_(z[:1].expand(5, 2), 0.01)


def bad_behind_a_number() -> None:  # fix: by hand
    from typing import Any

    import torch
    from torch import nn

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, power: float, w: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(w)
            return x * w

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:  # cause: GS309
            (w,) = ctx.saved_tensors
            return g * w, None, None

    fc, power = nn.Linear(3, 3), 2.0
    w = nn.Parameter(torch.ones(3))
    opt = torch.optim.SGD([*fc.parameters(), w], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        Scale.apply(fc(torch.ones(2, 3)), power, w).pow(2).sum().backward()  # effect: GS309
        opt.step()


def bad_module_as_an_argument() -> None:  # fix: by hand
    from typing import Any

    import torch
    from torch import nn

    class Mix(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, layer: nn.Linear) -> torch.Tensor:
            ctx.save_for_backward(layer.weight)
            return x @ layer.weight.t()

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            (weight,) = ctx.saved_tensors
            return g @ weight, None

    first, second = nn.Linear(3, 3), nn.Linear(3, 3, bias=False)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        Mix.apply(first(torch.ones(2, 3)), second).pow(2).sum().backward()  # cause: GS309
        opt.step()


def bad_beside_another_path() -> None:  # fix: by hand
    from typing import Any

    import torch
    from torch import nn

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(w)
            return x * w

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:  # cause: GS309
            (w,) = ctx.saved_tensors
            return g * w, None

    fc, w = nn.Linear(3, 3), nn.Parameter(torch.ones(3))
    opt = torch.optim.SGD([*fc.parameters(), w], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        loss = Scale.apply(fc(torch.ones(2, 3)), w).pow(2).sum()  # effect: GS309
        (loss + 0.01 * w.pow(2).sum()).backward()
        opt.step()


def good_stop() -> None:
    from typing import Any

    import torch
    from torch import nn

    class StopGradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            return None

    features, head, judge = nn.Linear(3, 3), nn.Linear(3, 2), nn.Linear(3, 1)
    opt = torch.optim.SGD([*features.parameters(), *head.parameters(), *judge.parameters()], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        h = features(torch.randn(4, 3))
        (head(h).pow(2).sum() + judge(StopGradient.apply(h)).pow(2).sum()).backward()
        opt.step()


def good_module_that_backward_runs_itself() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Rerun(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, layer: nn.Linear) -> Any:
            ctx.layer = layer
            ctx.save_for_backward(x)
            return layer(x)

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            with torch.enable_grad():
                x = ctx.saved_tensors[0].detach().requires_grad_()
                ctx.layer(x).backward(g)
            return x.grad, None

    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        Rerun.apply(first(torch.ones(2, 3)), second).pow(2).sum().backward()
        opt.step()


def bad_derivative_alone() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return 2 * x  # cause: GS309

    fc, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD([*fc.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        head(Square.apply(fc(torch.randn(4, 3)))).pow(2).mean().backward()  # effect: GS309
        opt.step()


def bad_derivative_alone_of_a_score_per_row() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Total(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x.logsumexp(dim=1)

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return x.softmax(dim=1)  # cause: GS309

    torch.manual_seed(0)
    fc = nn.Linear(3, 5)
    opt = torch.optim.SGD(fc.parameters(), lr=0.1)
    for _ in range(3):
        x = fc(torch.randn(4, 3))
        opt.zero_grad()
        (Total.apply(x) - x[:, 0]).mean().backward()  # effect: GS309
        opt.step()


def good_derivative_of_a_score_per_row_times_what_arrives() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Total(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x.logsumexp(dim=1)

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return x.softmax(dim=1) * given.unsqueeze(1)

    torch.manual_seed(0)
    fc = nn.Linear(3, 5)
    opt = torch.optim.SGD(fc.parameters(), lr=0.1)
    for _ in range(3):
        x = fc(torch.randn(4, 3))
        opt.zero_grad()
        (Total.apply(x) - x[:, 0]).mean().backward()
        opt.step()


def good_gradient_used_in_other_ways() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Masked(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x > 0)
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> torch.Tensor:
            (kept,) = ctx.saved_tensors
            result = torch.zeros(kept.shape)
            result[kept] = given[kept]
            return result

    class ByNumpy(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return 3 * x

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(3 * given.numpy()).to(given.dtype)

    fc, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD([*fc.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        head(ByNumpy.apply(Masked.apply(fc(torch.randn(4, 3))))).pow(2).mean().backward()
        opt.step()


def good_loss_with_its_own_gradient() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Distance(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x.pow(2).sum()

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return 2 * x

    fc = nn.Linear(3, 3)
    opt = torch.optim.SGD(fc.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        Distance.apply(fc(torch.randn(4, 3))).backward()
        opt.step()


def bad_one_of_two_without_the_gradient() -> None:  # fix: by hand
    """The gradient of the scale is right, that of the input is the derivative alone."""
    from typing import Any

    import torch
    from torch import nn

    class Squared(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x, scale)
            return x * x * scale

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            x, scale = ctx.saved_tensors
            of_scale = (g * x * x).sum(0)
            of_x = 2 * x * scale  # cause: GS309
            return of_x, of_scale

    torch.manual_seed(0)
    fc, scale = nn.Linear(3, 3), nn.Parameter(torch.rand(3))
    opt = torch.optim.SGD([*fc.parameters(), scale], lr=0.01)
    for _ in range(3):
        out = Squared.apply(fc(torch.randn(4, 3)), scale)  # effect: GS309
        opt.zero_grad()
        (out - 1).pow(2).mean().backward()
        opt.step()


def bad_saved_value_in_the_gradients_place() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Signed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, w: torch.Tensor, up: torch.Tensor, down: torch.Tensor) -> torch.Tensor:
            high = (w > 0).float()
            ctx.save_for_backward(w, high, up, down)
            return high * up - (1 - high) * down

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            w, high, up, down = ctx.saved_tensors
            low = 1 - high
            of_w = high * w * up + low * w * down  # cause: GS309
            return of_w, (high * grad).sum().view(1), -(low * grad).sum().view(1)

    torch.manual_seed(0)
    w, up, down = nn.Parameter(torch.randn(3, 4)), nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
    opt = torch.optim.SGD([w, up, down], lr=0.01)
    for _ in range(3):
        out = torch.randn(5, 4) @ Signed.apply(w, up, down).t()  # effect: GS309
        opt.zero_grad()
        out.pow(2).mean().backward()
        opt.step()


def good_auxiliary_loss_attached() -> None:
    """The loss of a router's balance gets the gradient 1, whatever comes back from what it is attached to."""
    from typing import Any

    import torch
    from torch import nn

    class Attached(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, loss: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(loss)
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            (loss,) = ctx.saved_tensors
            return g, torch.ones_like(loss) * 0.01

    torch.manual_seed(0)
    fc, router = nn.Linear(3, 3), nn.Linear(3, 2)
    opt = torch.optim.SGD([*fc.parameters(), *router.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(4, 3)
        out = Attached.apply(fc(x), router(x).softmax(-1).mean(0).pow(2).sum())
        opt.zero_grad()
        out.pow(2).mean().backward()
        opt.step()


def good_written_through_a_view() -> None:
    """The gradient comes into the result by a part of it."""
    from typing import Any

    import torch
    from torch import nn

    class Shifted(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x.roll(1, 1) * w

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            (x,) = ctx.saved_tensors
            back = x * 0
            back[:, :-1].copy_(g[:, 1:])
            back[:, -1:] += g[:, :1]
            return back * 1.0, (g * x.roll(1, 1)).sum(0)

    torch.manual_seed(0)
    fc, w = nn.Linear(3, 3), nn.Parameter(torch.ones(3))
    opt = torch.optim.SGD([*fc.parameters(), w], lr=0.01)
    for _ in range(3):
        out = Shifted.apply(fc(torch.randn(4, 3)), w)
        opt.zero_grad()
        out.pow(2).mean().backward()
        opt.step()


def bad_function_of_layers_that_is_given_data() -> None:
    import torch
    from torch import nn

    class Reversible(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, blocks):
            ctx.x, ctx.blocks = x.detach(), blocks
            with torch.no_grad():
                return x + blocks[0](x)

        @staticmethod
        def backward(ctx, given):
            x = ctx.x.requires_grad_()
            with torch.enable_grad():
                y = ctx.blocks[0](x)
            y.backward(given)
            return given + x.grad, None

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return Reversible.apply(x, self.blocks)  # cause: GS309

    torch.manual_seed(0)
    model = nn.Sequential(Block(), nn.Linear(4, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(8):
        x = torch.randn(16, 4)
        opt.zero_grad()
        (model(x)[:, 0] - x.prod(1)).pow(2).mean().backward()
        opt.step()
