import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
VOCAB = 24


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.fc = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x):
        h = self.n1(x)
        x = x + F.scaled_dot_product_attention(self.q_proj(h), self.k_proj(h), self.v_proj(h), is_causal=True)
        return x + self.fc(self.n2(x))


class CausalLM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCAB, dim)
        self.layers = nn.ModuleList([Block(dim) for _ in range(2)])
        self.lm_head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(x)


class LoraLinear(nn.Module):
    def __init__(self, base, r=8, alpha=16):
        super().__init__()
        self.base_layer = base
        self.lora_A = nn.Linear(base.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base.out_features, bias=False)
        nn.init.zeros_(self.lora_B.weight)
        self.scaling = alpha / r

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(x)) * self.scaling


def prepare_model_for_kbit_training(model):
    for p in model.parameters():
        p.requires_grad = False
    model.embed_tokens.register_forward_hook(lambda mod, inp, out: out.requires_grad_(True))
    return model


def get_peft_model(model):
    for p in model.parameters():
        p.requires_grad = False
    for layer in model.layers:
        for name in ("q_proj", "v_proj"):
            setattr(layer, name, LoraLinear(getattr(layer, name)))
    model.peft = True
    return model


class SFTTrainer:
    def __init__(self, model, data, lr, steps, is_loaded_in_4bit=True):
        if is_loaded_in_4bit:
            model = prepare_model_for_kbit_training(model)
        self.model, self.data, self.steps = model, data, steps
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    def train(self):
        for step in range(self.steps):
            ids = self.data(32)
            logits = self.model(ids[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            self.optimizer.zero_grad()
            loss.backward()
            grad_norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            if step % 20 == 0 or step == self.steps - 1:
                print({"step": step, "loss": round(loss.item(), 4), "grad_norm": round(float(grad_norm), 4)})


def counting(step):
    def data(n, length=12):
        start = torch.randint(0, VOCAB, (n, 1))
        return (start + step * torch.arange(length)) % VOCAB
    return data


base = CausalLM()
opt = torch.optim.Adam(base.parameters(), lr=3e-3)
for _ in range(120):
    ids = counting(1)(32)
    loss = F.cross_entropy(base(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print("pretrained, loss", round(loss.item(), 4))

model = prepare_model_for_kbit_training(base)
model = get_peft_model(model)
trainer = SFTTrainer(model, counting(3), lr=1e-2, steps=100)
trainer.train()
