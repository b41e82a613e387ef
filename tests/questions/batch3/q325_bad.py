import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(14)


class DequantizeAndLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weights_quantized, scale, bias):
        weights = weights_quantized.float() * scale
        ctx.save_for_backward(weights_quantized, scale)
        flat = torch.addmm(bias, x.flatten(0, -2), weights.t())
        return flat.view(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx, grad_output):
        weights_quantized, scale = ctx.saved_tensors
        weights = weights_quantized.float() * scale
        return grad_output @ weights, None, None, grad_output.flatten(0, -2).sum(0)


class FrozenLinear(nn.Module):
    def __init__(self, linear):
        super().__init__()
        scale = linear.weight.detach().abs().amax(1, keepdim=True) / 127
        self.register_buffer("weight", torch.round(linear.weight.detach() / scale).to(torch.int8))
        self.register_buffer("scale", scale)
        self.bias = nn.Parameter(linear.bias.detach().clone())
        self.adapter = None

    def forward(self, x):
        output = DequantizeAndLinear.apply(x, self.weight, self.scale, self.bias)
        if self.adapter is not None:
            output += self.adapter(x)
        return output


def add_adapters(model, rank=4):
    for module in model.modules():
        if isinstance(module, FrozenLinear):
            out_features, in_features = module.weight.shape
            module.adapter = nn.Sequential(
                nn.Linear(in_features, rank, bias=False), nn.Linear(rank, out_features, bias=False)
            )
            nn.init.zeros_(module.adapter[1].weight)


class LanguageModel(nn.Module):
    def __init__(self, vocab=20, dim=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.fc_in = FrozenLinear(nn.Linear(dim, 64))
        self.fc_out = FrozenLinear(nn.Linear(64, dim))
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.embedding(ids)
        h = h + self.fc_out(F.gelu(self.fc_in(h)))
        return self.lm_head(h)


model = LanguageModel()
add_adapters(model)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(200):
    ids = torch.randint(0, 20, (16, 12))
    targets = (ids * 3 + 1) % 20
    loss = F.cross_entropy(model(ids).flatten(0, 1), targets.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
