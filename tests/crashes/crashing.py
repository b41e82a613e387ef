"""Programs that torch stops, with the lines that their explanation shows.

`# effect: NAME` marks the failing line, `# cause: NAME` the other one, NAME is the explanation's.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

# -- backward and grad -----------------------------------------------------------------


def loss_of_several() -> None:
    model = nn.Linear(3, 1)
    loss = model(torch.ones(4, 3)).squeeze(1)  # cause: backward-of-non-scalar
    loss.backward()  # effect: backward-of-non-scalar


def loss_complex() -> None:
    z = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    loss = (z * z).sum()  # cause: backward-of-complex
    loss.backward()  # effect: backward-of-complex


def inputs_used_up() -> None:
    model = nn.Linear(2, 1)
    parameters = model.parameters()
    for p in parameters:
        assert p.requires_grad
    model(torch.ones(1, 2)).sum().backward(inputs=list(parameters))  # effect: backward-without-inputs


def weights_of_other_shape() -> None:
    y = torch.ones(3, requires_grad=True) * 2  # cause: gradient-of-other-shape
    y.backward(torch.ones(2))  # effect: gradient-of-other-shape


def weights_missing() -> None:
    x = torch.ones(3, requires_grad=True)
    torch.autograd.backward([x.sum(), x.prod()], [torch.ones(())])  # effect: gradients-miscounted


def input_copied() -> None:
    x = torch.ones(3, requires_grad=True)
    copy = x.clone()  # cause: input-stands-beside-graph
    y = (x * 2).sum()
    torch.autograd.grad(y, [copy])  # effect: input-stands-beside-graph


def parameters_copied_and_never_put_into_the_module() -> None:
    model = nn.Linear(2, 1)
    fast = [p.clone() for p in model.parameters()]  # cause: input-stands-beside-graph
    loss = model(torch.ones(4, 2)).sum()
    torch.autograd.grad(loss, fast)  # effect: input-stands-beside-graph


def slice_taken_after_the_loss() -> None:
    stacked = torch.ones(3, 2, requires_grad=True)
    loss = (stacked * 2).sum()
    row = stacked[0]  # cause: input-stands-beside-graph
    torch.autograd.grad(loss, row)  # effect: input-stands-beside-graph


def input_of_another_output() -> None:
    other = torch.ones(3, requires_grad=True)
    x = torch.ones(3, requires_grad=True)  # cause: input-not-in-graph
    y = (other * 2).sum()
    torch.autograd.grad(y, x)  # effect: input-not-in-graph


def copy_of_what_has_no_part() -> None:
    x, other = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    copy = x.clone()  # cause: input-not-in-graph
    y = (other * 2).sum()
    torch.autograd.grad(y, copy)  # effect: input-not-in-graph


def derivative_of_what_is_linear() -> None:
    x = torch.ones(3, requires_grad=True)
    (slope,) = torch.autograd.grad((2 * x).sum(), x, create_graph=True)  # cause: derivative-is-constant
    slope.requires_grad_(True)  # related: derivative-is-constant
    torch.autograd.grad(slope, x, torch.ones(3))  # effect: derivative-is-constant


def derivative_of_a_linear_layer() -> None:
    x, layer = torch.ones(3, 1, requires_grad=True), nn.Linear(1, 1)
    first = torch.autograd.grad(layer(x).sum(), x, create_graph=True)[0]  # cause: derivative-without-input
    torch.autograd.grad(first.sum(), x)  # effect: derivative-without-input


def input_frozen() -> None:
    w, x = torch.ones(3, requires_grad=True), torch.ones(3)  # cause: input-without-gradient
    y = (w * x).sum()
    torch.autograd.grad(y, x)  # effect: input-without-gradient


def empty_batch_after_many() -> None:
    def loss_of(scores: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        if chosen.any():
            picked = scores[chosen]
            loss = picked.pow(2).mean()  # related: backward-of-constants
        else:
            loss = torch.tensor(0.0)  # cause: backward-of-constants
        return loss

    model = nn.Linear(2, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(80):
        opt.zero_grad()
        chosen = torch.full((4,), step < 70)
        loss = loss_of(model(torch.ones(4, 2)), chosen)
        loss.backward()  # effect: backward-of-constants
        opt.step()


def derivative_within_a_forward() -> None:
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            y = x.pow(2)
            return torch.autograd.grad(y.sum(), x)[0]  # effect: backward-within-a-forward

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad * 2

    Inner.apply(torch.ones(3, requires_grad=True))  # cause: backward-within-a-forward


def number_without_graph() -> None:
    model = nn.Linear(2, 1)
    total = 0.0
    for _ in range(2):
        total += model(torch.ones(1, 2)).sum().item()
    total.backward()  # type: ignore[attr-defined]  # effect: backward-of-number


def nothing_to_go_backward_from() -> None:
    def mean_square(out: torch.Tensor) -> None:
        out.pow(2).mean()

    loss: Any = mean_square(nn.Linear(3, 1)(torch.randn(4, 3)))
    loss.backward()  # effect: backward-of-none


def gradient_missing() -> None:
    w = torch.ones(3, requires_grad=True)  # cause: gradient-is-none
    with torch.no_grad():
        w -= 0.1 * w.grad  # type: ignore[operator]  # effect: gradient-is-none


def gradient_of_what_is_frozen() -> None:
    model = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 1))  # cause: gradient-is-none
    model[0].weight.requires_grad = False
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.tensor([1, 2])).sum().backward()
    for p in opt.param_groups[0]["params"]:
        p.data -= 0.1 * p.grad.data  # effect: gradient-is-none


def gradient_cleared_before_its_use() -> None:
    model = nn.Linear(3, 1)
    model(torch.ones(2, 3)).sum().backward()
    model.zero_grad()  # cause: gradient-is-none
    model.weight.data -= 0.1 * model.weight.grad.data  # type: ignore[union-attr]  # effect: gradient-is-none


def second_derivative_missing() -> None:
    x = torch.randn(4, 2, requires_grad=True)
    far = nn.functional.multi_margin_loss(x, torch.tensor([0, 1, 1, 0]))  # cause: no-derivative
    (first,) = torch.autograd.grad(far, x, create_graph=True)
    first.sum().backward()  # effect: no-derivative


def anomaly_found() -> None:
    x = torch.zeros(3, requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=True):
        y = x.sqrt()  # cause: backward-made-nan
        (y * 0).sum().backward()  # effect: backward-made-nan


# -- leaves --------------------------------------------------------------------------------


def integers_trained() -> None:
    x = torch.tensor([1, 2, 3])  # cause: gradient-of-integers
    x.requires_grad_()  # effect: gradient-of-integers


def numpy_taken() -> None:
    model = nn.Linear(3, 1)
    shown = model(torch.ones(4, 3))  # cause: numpy-of-graph
    shown.numpy()  # effect: numpy-of-graph


def computed_frozen() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2  # cause: requires-grad-of-computed
    y.requires_grad = False  # effect: requires-grad-of-computed


def hook_under_no_grad() -> None:
    model = nn.Linear(3, 1)
    with torch.no_grad():  # cause: hook-under-no-grad
        out = torch.relu(model(torch.ones(2, 3)))
    out.register_hook(lambda g: g * 2)  # effect: hook-under-no-grad


def hook_on_constant() -> None:
    x = torch.ones(3)  # cause: hook-without-gradient
    x.register_hook(lambda g: g * 2)  # effect: hook-without-gradient


def hook_after_accumulation() -> None:
    y = torch.ones(3, requires_grad=True) * 2  # cause: post-accumulate-hook-on-computed
    y.register_post_accumulate_grad_hook(print)  # effect: post-accumulate-hook-on-computed


def constant_retained() -> None:
    with torch.no_grad():
        y = torch.ones(3, requires_grad=True) * 2  # cause: retain-grad-without-gradient
    y.retain_grad()  # effect: retain-grad-without-gradient


def module_that_keeps_its_output_copied() -> None:
    import copy

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen = [self.fc(x)]  # cause: copy-of-computed
            return self.seen[0].sum()

    model = nn.Sequential(Block())
    model(torch.ones(1, 2)).backward()
    copy.deepcopy(model)  # effect: copy-of-computed


def hook_sums() -> None:
    y = nn.Linear(3, 2)(torch.ones(4, 3))

    def summed(grad: torch.Tensor) -> torch.Tensor:
        return grad.sum(0)

    y.register_hook(summed)  # cause: hook-changes-shape
    y.sum().backward()  # effect: hook-changes-shape


def function_writes_leaf() -> None:
    class AddOne(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0]

    w = torch.zeros(3, requires_grad=True)  # cause: function-writes-leaf
    AddOne.apply(w)  # effect: function-writes-leaf


def hessian_of_several() -> None:
    w = torch.ones(2)
    torch.autograd.functional.hessian(lambda t: t.pow(2), w)  # effect: hessian-of-several


def infinity_becomes_nan() -> None:
    x = torch.zeros(3, requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=True):
        y = x.pow(2).sum().sqrt()  # cause: backward-made-nan
        y.backward()  # effect: backward-made-nan


def root_beside_squares() -> None:
    x = torch.zeros(3, requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=True):
        flat = ((x[1:] ** 2 + x[:-1] ** 2) ** 0.5).mean()  # cause: backward-made-nan
        loss = (x - 1).pow(2).mean() + flat
        loss.backward()  # effect: backward-made-nan


def root_of_half_behind_a_quotient() -> None:
    x = torch.zeros(3, requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=True):
        size = x.pow(2).sum().pow(1 / 2)  # cause: backward-made-nan
        (size / 3 + x.pow(2).sum()).backward()  # effect: backward-made-nan


def zeta_derived() -> None:
    x = torch.full((3,), 2.0, requires_grad=True)
    y = torch.special.zeta(x, torch.ones(3))  # cause: no-derivative
    y.sum().backward()  # effect: no-derivative


def computed_copied() -> None:
    import copy

    y = torch.ones(3, requires_grad=True) * 2  # cause: copy-of-computed
    copy.deepcopy(y)  # effect: copy-of-computed


def gradient_assigned() -> None:
    w = torch.ones(3, requires_grad=True)  # cause: gradient-assigned-of-other-shape
    w.grad = torch.ones(2)  # effect: gradient-assigned-of-other-shape


def view_detached() -> None:
    x = torch.ones(3, requires_grad=True) * 1
    head = x[:2]  # cause: detach-in-place-of-view
    head.detach_()  # effect: detach-in-place-of-view


# -- in place ------------------------------------------------------------------------------


def sum_broadcast() -> None:
    total = torch.zeros(3)  # cause: write-of-other-shape
    total += torch.ones(2, 3)  # effect: write-of-other-shape


def shifted() -> None:
    x = torch.ones(4)  # cause: write-overlaps-input
    x[1:].mul_(x[:-1])  # effect: write-overlaps-input


def out_given() -> None:
    x, result = torch.ones(3, requires_grad=True), torch.empty(3)
    torch.mul(x, 2, out=result)  # effect: out-with-gradient


# -- custom functions ------------------------------------------------------------------------


class TooFew(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        return a * b

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # cause: backward-returns-too-few
        return g


def too_few() -> None:
    x = torch.ones(3, requires_grad=True)
    TooFew.apply(x, x).sum().backward()  # effect: backward-returns-too-few


class OneTooMany(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, scale: float) -> Any:
        return a * scale

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # cause: backward-returns-one-too-many
        return g, g


def one_too_many() -> None:
    OneTooMany.apply(
        torch.ones(3, requires_grad=True), 2.0
    ).sum().backward()  # effect: backward-returns-one-too-many


class OtherShape(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any) -> Any:
        return a * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # cause: backward-returns-other-shape
        return g[:1]


def other_shape() -> None:
    OtherShape.apply(
        torch.ones(3, requires_grad=True)
    ).sum().backward()  # effect: backward-returns-other-shape


class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any) -> Any:
        return a * 2

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Any) -> Any:  # cause: function-differentiated-twice
        return g * 2


def differentiated_twice() -> None:
    x = torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad(Once.apply(x).pow(2).sum(), x, create_graph=True)
    g.sum().backward()  # effect: function-differentiated-twice


def transformed() -> None:
    torch.func.grad(lambda x: Once.apply(x).sum())(torch.ones(3))  # effect: function-without-setup-context


# -- optimizers --------------------------------------------------------------------------------


def nothing_optimized() -> None:
    layers = [nn.Linear(2, 2)]

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = layers

    torch.optim.SGD(Net().parameters(), lr=0.1)  # effect: optimizer-without-parameters


def parameters_counted_first() -> None:
    net = nn.Linear(2, 2)
    params = net.parameters()
    print(sum(p.numel() for p in params))  # cause: parameters-used-up
    torch.optim.SGD(params, lr=0.1)  # effect: parameters-used-up


def optimizer_of_layers_in_names_of_init() -> None:
    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self_hidden = nn.Linear(2, 4)  # noqa: F841  # cause: layers-in-names-of-init
            self_out = nn.Linear(4, 1)  # noqa: F841  # related: layers-in-names-of-init
            self.act = nn.ReLU()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self_out(self.act(self_hidden(x)))  # type: ignore[name-defined]  # noqa: F821
            return y

    model = Encoder()
    torch.optim.SGD(list(model.parameters()), lr=0.1)  # effect: layers-in-names-of-init


def state_of_another() -> None:
    small, large = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    saved = torch.optim.Adam(small.parameters()).state_dict()
    opt = torch.optim.Adam(large.parameters())
    opt.load_state_dict(saved)  # effect: optimizer-state-of-other-model


def closure_forgotten() -> None:
    model = nn.Linear(2, 2)
    opt = torch.optim.LBFGS(model.parameters())  # cause: step-without-closure
    opt.step()  # effect: step-without-closure


# -- transforms and checkpoints ----------------------------------------------------------------


def branch_under_vmap() -> None:
    def pick(x: torch.Tensor) -> torch.Tensor:
        return x if x > 0 else -x  # effect: vmap-branches-on-tensor

    torch.func.vmap(pick)(torch.ones(3))  # cause: vmap-branches-on-tensor


def dropout_under_vmap() -> None:
    drop = nn.Dropout(0.5)
    torch.func.vmap(drop)(torch.ones(3, 2))  # effect: vmap-random


def dropout_under_vmap_that_has_a_name() -> None:
    drop = nn.Dropout(0.5)
    each = torch.func.vmap(drop)  # cause: vmap-random

    def run(x: torch.Tensor) -> torch.Tensor:
        return each(x)  # effect: vmap-random

    run(torch.ones(3, 2))


def batch_dimension_under_vmap() -> None:
    def unit(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.normalize(x, dim=1)  # effect: vmap-has-no-batch

    torch.func.vmap(torch.func.jacrev(unit))(torch.ones(3, 2))  # related: vmap-has-no-batch


def transform_of_several() -> None:
    torch.func.grad(lambda x: x * 2)(torch.ones(3))  # effect: transform-of-non-scalar


def recomputed_differently() -> None:
    calls: list[int] = []

    def block(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        y = x.sin()
        return y.cos() if len(calls) == 1 else y

    x = torch.ones(3, requires_grad=True)
    y = checkpoint(block, x, use_reentrant=False)  # cause: checkpoint-recomputes-other-tensors
    y.sum().backward()  # effect: checkpoint-recomputes-other-tensors


def checkpoint_asked_for_one() -> None:
    x = torch.ones(3, requires_grad=True)
    y = checkpoint(torch.sin, x, use_reentrant=True)  # cause: checkpoint-with-grad
    torch.autograd.grad(y.sum(), x)  # effect: checkpoint-with-grad


# -- sizes, indices and kinds -----------------------------------------------------------


def last_batch_of_one() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    for x in torch.ones(5, 3).split(2):
        net(x)  # effect: one-value-per-channel


def layer_of_other_width() -> None:
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(2 * 4 * 4, 2))
    net(torch.ones(3, 1, 8, 8))  # effect: sizes-of-a-product


def keys_not_turned() -> None:
    q, k = torch.ones(2, 5, 4), torch.ones(2, 5, 4)
    (q @ k).softmax(-1)  # effect: sizes-of-batched-products


def mean_of_other_size() -> None:
    x, mean = torch.ones(4, 3), torch.ones(4)
    x.sub(mean)  # effect: sizes-side-by-side


def batch_flattened_away() -> None:
    net = nn.Linear(6, 2)
    x, y = torch.ones(4, 12), torch.zeros(4, dtype=torch.long)
    nn.functional.cross_entropy(net(x.view(-1, 6)), y)  # effect: batches-of-different-size


def channels_last() -> None:
    net = nn.Conv2d(3, 4, 3)
    net(torch.ones(2, 8, 8, 3))  # effect: channels


def buffer_resized_through_data() -> None:
    net, image, loaded = nn.Conv2d(1, 4, 3), torch.zeros(8, 3, 9, 9), torch.ones(8, 1, 9, 12)
    image.data.resize_(loaded.size()).copy_(loaded)  # cause: resized-through-data
    net(image)  # effect: resized-through-data


def state_of_a_larger_batch() -> None:
    net, state = nn.GRU(3, 4), torch.zeros(1, 8, 4)
    for x in torch.ones(5, 12, 3).split(8, dim=1):
        _, state = net(x, state)  # effect: size-of-a-state


def word_without_row() -> None:
    emb = nn.Embedding(10, 2)
    words = torch.tensor([1, 10])  # cause: index-without-row
    emb(words)  # effect: index-without-row


def label_without_score() -> None:
    scores = torch.zeros(2, 4)
    labels = torch.tensor([1, 4])  # cause: class-out-of-range
    nn.functional.cross_entropy(scores, labels)  # effect: class-out-of-range


def labels_of_two_dimensions() -> None:
    scores, labels = torch.zeros(2, 4), torch.tensor([[1], [3]])
    nn.functional.cross_entropy(scores, labels)  # effect: target-of-two-dimensions


def scores_for_probabilities() -> None:
    nn.functional.binary_cross_entropy(torch.full((2,), 3.0), torch.ones(2))  # effect: no-probability


def mask_of_floats() -> None:
    x = torch.ones(3)
    mask = (x > 0).float()  # cause: index-of-floats
    x[mask]  # effect: index-of-floats


def view_after_permute() -> None:
    x = torch.ones(2, 3, 4).permute(0, 2, 1)  # cause: view-of-scattered-memory
    x.view(2, 12)  # effect: view-of-scattered-memory


def head_of_other_width() -> None:
    saved = nn.Linear(3, 2).state_dict()
    nn.Linear(3, 4).load_state_dict(saved)  # effect: weights-of-another-size


def whole_checkpoint_loaded() -> None:
    saved = {"model": nn.Linear(3, 2).state_dict(), "epoch": 3}
    nn.Linear(3, 2).load_state_dict(saved)  # effect: weights-by-other-names


def output_with_its_state() -> None:
    net, head = nn.GRU(3, 4), nn.Linear(4, 1)
    out: Any = net(torch.ones(5, 2, 3))
    head(out)  # effect: tuple-for-tensor


# -- shapes, values and types that torch refuses --------------------------------------------


def put_together() -> None:
    torch.cat([torch.ones(2, 3), torch.ones(2, 4)], 0)  # effect: sizes-put-together


def stacked() -> None:
    torch.stack([torch.ones(2), torch.ones(3)])  # effect: samples-of-different-size


def viewed() -> None:
    torch.ones(3, 4).view(5, -1)  # effect: elements-for-a-shape


def spread() -> None:
    torch.ones(3, 4).expand(3, 5)  # effect: expanded-to-another-size


def image_without_channels() -> None:
    nn.Conv2d(3, 4, 3)(torch.ones(1, 1, 3, 8, 8))  # effect: dimensions-of-an-input


def image_in_batch_norm() -> None:
    nn.BatchNorm2d(4)(torch.ones(3, 4))  # effect: dimensions-of-an-input


def last_batch_of_one_image() -> None:
    pool, head = nn.AdaptiveAvgPool2d(1), nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).eval()
    with torch.no_grad():
        for size in (4, 4, 1):
            h = pool(torch.ones(size, 3, 4, 4)).squeeze()  # cause: squeezed-dimension
            head(h)  # effect: squeezed-dimension


def last_batch_of_one_row() -> None:
    model, loss = nn.Linear(3, 1), nn.BCEWithLogitsLoss()
    for size in (4, 4, 1):
        score = torch.squeeze(model(torch.ones(size, 3)))  # cause: squeezed-dimension
        loss(score, torch.ones(size)).backward()  # effect: squeezed-dimension


def loss_of_other_tensors() -> None:
    def train(image: torch.Tensor, target: torch.Tensor) -> None:
        code = encoder(image)
        out = decoder(code)
        loss_fn(out, target).backward()  # related: other-operands

    def validate(pair: tuple[torch.Tensor, torch.Tensor]) -> None:
        image, target = pair
        target = target.to("cpu")
        code = encoder(image)
        out = decoder(code)
        loss_fn(code, out)  # effect: other-operands

    encoder, decoder, loss_fn = nn.Linear(6, 2), nn.Linear(2, 6), nn.MSELoss()
    x = torch.ones(4, 6)
    train(x, x)
    validate((x, x))


def squeezed_as_before() -> None:
    model, norm = nn.Linear(3, 1), nn.BatchNorm1d(5)
    for size in (5, 4):
        score = model(torch.ones(2, size, 3)).squeeze()
        norm(score)  # effect: features-of-a-norm


def pooled_away() -> None:
    nn.MaxPool2d(4)(torch.ones(1, 1, 2, 2))  # effect: image-smaller-than-kernel


def batch_norm_of_others() -> None:
    nn.BatchNorm1d(4)(torch.ones(3, 5))  # effect: features-of-a-norm


def layer_norm_of_others() -> None:
    nn.LayerNorm(4)(torch.ones(3, 5))  # effect: shape-of-a-norm


def sequence_of_others() -> None:
    state = torch.zeros(1, 1, 2)  # torch before 2.4 looks at the width only where it is given one
    nn.LSTM(3, 2)(torch.ones(1, 1, 4), (state, state))  # effect: width-of-a-recurrent-input


def targets_in_a_row() -> None:
    scores, targets = torch.rand(4, 1), torch.rand(4)
    nn.BCEWithLogitsLoss()(scores, targets)  # effect: size-of-a-target


def picked_too_far() -> None:
    torch.ones(2, 3).gather(1, torch.tensor([[0], [3]]))  # effect: index-out-of-bounds


def summed_over_nothing() -> None:
    torch.ones(3).sum(2)  # effect: dimension-out-of-range


def masked_by_another() -> None:
    torch.ones(3, 4)[torch.ones(4, 3).bool()]  # effect: mask-of-another-shape


def chances_of_nan() -> None:
    torch.multinomial(torch.tensor([float("nan"), 2.0]), 1)  # effect: chances-not-finite


def spread_of_a_normal() -> None:
    torch.distributions.Normal(torch.zeros(1), torch.tensor([-1.0]))  # effect: parameter-of-a-distribution


def covariance_without_rank() -> None:
    torch.linalg.cholesky(-torch.eye(3))  # effect: matrix-not-positive-definite


def truth_of_three() -> None:
    if torch.ones(3) > 0:  # effect: truth-of-several
        pass


def mean_of_labels() -> None:
    labels = torch.tensor([1, 2])  # cause: mean-of-integers
    labels.mean()  # effect: mean-of-integers


def count_grows_by_halves() -> None:
    count = torch.tensor([1, 2])
    count += 0.5  # type: ignore[assignment]  # effect: write-of-other-dtype


def tensors_in_tensor() -> None:
    torch.tensor([torch.ones(2), torch.ones(2)])  # effect: numbers-of-several


def losses_in_a_list() -> None:
    losses = [torch.ones((), requires_grad=True) * 2]
    losses.backward()  # type: ignore[attr-defined]  # effect: backward-of-collection


# -- transforms that write in place -----------------------------------------------------------


def row_written_under_vmap() -> None:
    def squares(x: torch.Tensor) -> torch.Tensor:
        out = torch.zeros(3)
        out[0] = x.sum()  # effect: vmap-writes-to-shared
        return out

    torch.vmap(squares)(torch.ones(4, 3))  # cause: vmap-writes-to-shared


def sum_written_under_vmap() -> None:
    def total(x: torch.Tensor) -> torch.Tensor:
        out = torch.zeros(3)
        out.add_(x)  # effect: vmap-adds-to-shared
        return out.sum()

    torch.vmap(total)(torch.ones(4, 3))  # cause: vmap-adds-to-shared


def history_written_under_grad() -> None:
    history = torch.zeros(5)

    def loss(x: torch.Tensor) -> torch.Tensor:
        history[0] = x.sum()  # effect: transform-writes-captured
        return history.sum()

    torch.func.grad(loss)(torch.ones(3))  # cause: transform-writes-captured


def statistics_under_grad() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))

    def loss(parameters: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(net, parameters, (x,)).sum()  # effect: transform-updates-statistics

    torch.func.grad(loss)(  # cause: transform-updates-statistics
        dict(net.named_parameters()), torch.randn(4, 3)
    )


# -- data, files, modules -----------------------------------------------------------------------


def worker_reads_no_key() -> None:
    class Samples(torch.utils.data.Dataset[Any]):
        def __len__(self) -> int:
            return 2

        def __getitem__(self, number: int) -> Any:
            return {"image": 1}["label"]

    for _ in torch.utils.data.DataLoader(Samples(), num_workers=1):  # effect: worker-failed
        pass


def worker_gives_a_graph() -> None:
    class Samples(torch.utils.data.Dataset[Any]):
        def __len__(self) -> int:
            return 2

        def __getitem__(self, number: int) -> Any:
            return torch.ones(2, requires_grad=True) * 2

    for _ in torch.utils.data.DataLoader(Samples(), num_workers=1):  # effect: worker-cannot-stack-graphs
        pass


def samples_of_none() -> None:
    for _ in torch.utils.data.DataLoader([None, None]):  # type: ignore[arg-type]  # effect: samples-that-make-no-batch
        pass


def state_of_a_module() -> None:
    nn.Linear(3, 1).load_state_dict(nn.Linear(3, 1))  # type: ignore[arg-type]  # effect: state-is-no-dictionary


def module_for_an_optimizer() -> None:
    torch.optim.SGD(nn.Linear(3, 1), lr=0.1)  # type: ignore[arg-type]  # effect: optimizer-of-a-module


def layers_called_as_one() -> None:
    nn.ModuleList([nn.Linear(3, 1)])(torch.ones(1, 3))  # effect: module-without-forward


def empty_weights_moved() -> None:
    nn.Linear(3, 1, device="meta").to("cpu")  # effect: copy-out-of-meta
