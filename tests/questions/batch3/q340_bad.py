import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

torch.manual_seed(101)

models = [nn.Linear(3, 1) for _ in range(5)]
params, buffers = stack_module_state(models)
loss_fn = nn.MSELoss()
true_weight = torch.randn(3, 1)


def compute_loss(params, buffers, inputs, outputs):
    preds = functional_call(models[0], (params, buffers), (inputs,))
    return loss_fn(preds, outputs)


def train_step(inputs, outputs, lr=0.1):
    losses = vmap(compute_loss)(params, buffers, inputs, outputs)
    for name, stacked in params.items():
        grads = []
        for loss, weight in zip(losses, stacked):
            (grad,) = torch.autograd.grad(loss, weight, retain_graph=True)
            grads.append(grad)
        with torch.no_grad():
            stacked -= lr * torch.stack(grads)
    return losses


for step in range(200):
    inputs = torch.randn(5, 16, 3)
    outputs = inputs @ true_weight + 0.1 * torch.randn(5, 16, 1)
    losses = train_step(inputs, outputs)
    if step % 40 == 0:
        print(f"step {step}:", [round(v, 4) for v in losses.tolist()])
