import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class LoraLinear(nn.Module):
    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base
        self.lora_A = nn.Parameter(0.1 * torch.randn(rank, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.lora_A.t() @ self.lora_B.t()

    def fuse(self):
        with torch.no_grad():
            self.base.weight += self.lora_B @ self.lora_A
            self.lora_B.zero_()


class Transformer(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.proj_in = nn.Linear(8, dim)
        self.to_q = nn.Linear(dim, dim)
        self.to_out = nn.Linear(dim, 8)

    def forward(self, x):
        return self.to_out(torch.tanh(self.to_q(torch.tanh(self.proj_in(x)))))


class Adapter:
    def __init__(self, transformer, log_noise):
        self.transformer = transformer
        self.log_noise = log_noise

    def freeze_components(self):
        for param in self.transformer.parameters():
            param.requires_grad_(False)

    def apply_lora(self, overwrite=False):
        for name in ("to_q", "to_out"):
            module = getattr(self.transformer, name)
            if isinstance(module, LoraLinear) and not overwrite:
                continue
            setattr(self.transformer, name, LoraLinear(module))

    def trainable_parameters(self):
        params = [p for p in self.transformer.parameters() if p.requires_grad]
        return [*params, self.log_noise]


def load_pretrained_lora(transformer):
    for name in ("to_q", "to_out"):
        layer = LoraLinear(getattr(transformer, name))
        nn.init.normal_(layer.lora_B, std=0.1)
        layer.fuse()
        setattr(transformer, name, layer)


target_map = Transformer().requires_grad_(False)
transformer = Transformer()
load_pretrained_lora(transformer)
adapter = Adapter(transformer, nn.Parameter(torch.tensor(0.0)))
adapter.freeze_components()
adapter.apply_lora()
optimizer = torch.optim.AdamW(adapter.trainable_parameters(), lr=1e-2)
for step in range(1, 401):
    x = torch.randn(64, 8)
    error = F.mse_loss(transformer(x), target_map(x))
    loss = 0.5 * (error * torch.exp(-adapter.log_noise) + adapter.log_noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 0:
        print(f"step {step}: loss {loss.item():.4f}, error {error.item():.4f}")
